import { lazy, type ReactNode, Suspense } from 'react'
import { BUTTON_ROW, type ConfirmProps, type DialogProps } from './dialog-props.ts'

/** Fetches the code of dialogs before one is opened. */
export const preloadDialogs = () => import('./dialog-box.tsx')

const Box = lazy(() => preloadDialogs().then(({ DialogBox }) => ({ default: DialogBox })))
const Confirm = lazy(() => preloadDialogs().then(({ ConfirmBox }) => ({ default: ConfirmBox })))

/**
 * A dialog over the page. Focus goes into it, stays in it, and comes back. With `firm` neither Esc nor a press outside closes
 * it: there is something in it that would be lost. Its code comes with the first dialog, not with the page.
 */
export function Dialog(props: DialogProps) {
  return (
    <Suspense>
      <Box {...props} />
    </Suspense>
  )
}

/** Asks once more before something that cannot be undone. Cancel has the focus. */
export function ConfirmDialog(props: ConfirmProps) {
  return (
    <Suspense>
      <Confirm {...props} />
    </Suspense>
  )
}

/** The row of buttons at the end of a dialog: the way back first, what the dialog is for last. */
export function DialogButtons({ children }: { children: ReactNode }) {
  return <div className={BUTTON_ROW}>{children}</div>
}
