import { lazy, type ReactNode, Suspense } from 'react'
import { BUTTON_ROW, type ConfirmProps, type DialogProps } from './dialog-props.ts'

/** Preloads the code of dialogs. */
export const preloadDialogs = () => import('./dialog-box.tsx')

const Box = lazy(() => preloadDialogs().then(({ DialogBox }) => ({ default: DialogBox })))
const Confirm = lazy(() => preloadDialogs().then(({ ConfirmBox }) => ({ default: ConfirmBox })))

/**
 * A modal dialog that traps the focus and restores it afterwards. With `firm`, neither Escape nor a click outside closes it,
 * because something in it would be lost. Its code is loaded with the first dialog, not with the page.
 */
export function Dialog(props: DialogProps) {
  return (
    <Suspense>
      <Box {...props} />
    </Suspense>
  )
}

/** Confirms an action that cannot be undone. Cancel has the focus. */
export function ConfirmDialog(props: ConfirmProps) {
  return (
    <Suspense>
      <Confirm {...props} />
    </Suspense>
  )
}

/** The buttons of a dialog: cancel first, the main action last. */
export function DialogButtons({ children }: { children: ReactNode }) {
  return <div className={BUTTON_ROW}>{children}</div>
}
