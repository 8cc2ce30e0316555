import { lazy, Suspense } from 'react'
import { recentSignInRequired, sessionEnded } from '../session-state.ts'
import { useSignal } from '../signal.ts'

const SignInAgain = lazy(() => import('./sign-in-again.tsx').then(({ SignInAgain }) => ({ default: SignInAgain })))

/** Over the page once the session is over, or too old for what was asked: what was typed below stays. */
export function SessionEnded() {
  const ended = useSignal(sessionEnded)
  const tooOld = useSignal(recentSignInRequired)
  return ended || tooOld ? (
    <Suspense>
      <SignInAgain {...(!ended && { onGiveUp: () => recentSignInRequired.set(false) })} />
    </Suspense>
  ) : null
}
