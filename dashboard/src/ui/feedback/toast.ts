import { Signal } from '../../signal.ts'

/** A sentence that passes by, with perhaps one thing to do about it. */
export interface Toast {
  readonly text: string
  readonly bad: boolean
  readonly action: { readonly label: string; readonly onClick: () => void } | null
}

/** True once there was something to say: only then is what shows it fetched. */
export const toastsWanted = new Signal(false)

/** How long a toast with something to do stays. */
const LONG_MS = 8_000

export async function toast(text: string, more: Partial<Omit<Toast, 'text'>> = {}): Promise<void> {
  toastsWanted.set(true)
  const { toast: show } = await import('sonner')
  const { action } = more
  const options = {
    ...(action && { action: { label: action.label, onClick: action.onClick }, duration: LONG_MS }),
  }
  if (more.bad) show.error(text, options)
  else show(text, options)
}
