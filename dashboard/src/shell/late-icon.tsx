import { lazyPart } from '../ui/feedback/lazy-part.tsx'

/** An icon of the navigation, loaded after the words beside it; until then, the same room. */
export const LateIcon = lazyPart(() => import('./shell-icon.tsx').then(({ ShellIcon }) => ShellIcon), {
  fallback: Room,
  failure: () => null,
})

function Room() {
  return <span aria-hidden className="size-4 shrink-0" />
}
