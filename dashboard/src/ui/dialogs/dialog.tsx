import type { ReactNode } from 'react'
import { lazyPart } from '../feedback/lazy-part.tsx'
import { BUTTON_ROW, type ConfirmProps, type DialogProps } from './dialog-props.ts'

const Box = lazyPart(() => import('./dialog-box.tsx').then(({ DialogBox }) => DialogBox))
const Confirm = lazyPart(() => import('./dialog-box.tsx').then(({ ConfirmBox }) => ConfirmBox))

/** Preloads the code of dialogs. */
export const preloadDialogs = Box.preload

/**
 * A modal dialog that traps the focus and restores it afterwards. With `firm`, neither Escape nor a click outside closes it,
 * because something in it would be lost. Its code is loaded with the first dialog, not with the page.
 */
export function Dialog(props: DialogProps) {
  return <Box {...props} />
}

/** Confirms an action that cannot be undone. Cancel has the focus. */
export function ConfirmDialog(props: ConfirmProps) {
  return <Confirm {...props} />
}

/** The buttons of a dialog: cancel first, the main action last. */
export function DialogButtons({ children }: { children: ReactNode }) {
  return <div className={BUTTON_ROW}>{children}</div>
}
