import { lazy, Suspense } from 'react'
import { recentSignInRequired, sessionEnded } from '../session-state.ts'
import { useSignal } from '../signal.ts'

const SignInAgain = lazy(() => import('./sign-in-again.tsx').then(({ SignInAgain }) => ({ default: SignInAgain })))

/** Covers the page when the session has ended or is too old for an action. The input below is kept. */
export function SessionEnded() {
  const ended = useSignal(sessionEnded)
  const tooOld = useSignal(recentSignInRequired)
  return ended || tooOld ? (
    <Suspense>
      <SignInAgain {...(!ended && { onGiveUp: () => recentSignInRequired.set(false) })} />
    </Suspense>
  ) : null
}
