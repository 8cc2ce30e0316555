import { lazyPart } from '../ui/feedback/lazy-part.tsx'
import { FRAME_LOOK as LOOK } from './frame-look.ts'

/** An icon of the navigation, loaded after its text; until then, the same room. */
export const LateIcon = lazyPart(() => import('./shell-icon.tsx').then(({ ShellIcon }) => ShellIcon), {
  fallback: Room,
  failure: () => null,
})

function Room() {
  return <span aria-hidden className={LOOK.iconRoom} />
}
