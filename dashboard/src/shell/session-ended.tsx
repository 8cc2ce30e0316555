import { lazy, Suspense } from 'react'
import { sessionEnded } from '../api/session-ended.ts'
import { useSignal } from '../signal.ts'

const SignInAgain = lazy(() => import('./sign-in-again.tsx').then(({ SignInAgain }) => ({ default: SignInAgain })))

/** Over the page once the session is over: what was typed below stays. */
export function SessionEnded() {
  return useSignal(sessionEnded) ? (
    <Suspense>
      <SignInAgain />
    </Suspense>
  ) : null
}
