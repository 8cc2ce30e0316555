import { Signal } from '../../signal.ts'

/** A short message, with an optional action. */
export interface Toast {
  readonly text: string
  readonly bad: boolean
  readonly action: { readonly label: string; readonly onClick: () => void } | null
}

/** True after the first toast, when the component that shows toasts is loaded. */
export const toastsWanted = new Signal(false)

/** How long a toast with an action stays. */
const LONG_MS = 8_000

export async function toast(text: string, more: Partial<Omit<Toast, 'text'>> = {}): Promise<void> {
  toastsWanted.set(true)
  // The file of the region, which an idle page loads in advance: a failure must show when nothing can be loaded.
  const { show } = await import('./toaster.tsx')
  const { action } = more
  const options = {
    ...(action && { action: { label: action.label, onClick: action.onClick }, duration: LONG_MS }),
  }
  if (more.bad) show.error(text, options)
  else show(text, options)
}
