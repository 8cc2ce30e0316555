import { recentSignInRequired, sessionEnded } from '../session-state.ts'
import { useSignal } from '../signal.ts'
import { lazyPart } from '../ui/feedback/lazy-part.tsx'

const SignInAgain = lazyPart(() => import('./sign-in-again.tsx').then(({ SignInAgain }) => SignInAgain))

/** Covers the page when the session has ended or is too old for an action. The input below is kept. */
export function SessionEnded() {
  const ended = useSignal(sessionEnded)
  const tooOld = useSignal(recentSignInRequired)
  return ended || tooOld ? <SignInAgain {...(!ended && { onGiveUp: () => recentSignInRequired.set(false) })} /> : null
}
