import type { ReactNode } from 'react'

export type DialogProps = {
  title: ReactNode
  onClose: () => void
  firm?: boolean
  wide?: boolean
  /** At the right edge, as high as the window. */
  side?: boolean
  children: ReactNode
}

export type ConfirmProps = {
  title: ReactNode
  text: ReactNode
  cancelLabel: string
  confirmLabel: string
  busy?: boolean
  onCancel: () => void
  onConfirm: () => void
  children?: ReactNode
}

/** How the buttons at the end of a dialog stand. */
export const BUTTON_ROW = 'flex flex-wrap justify-end gap-2 max-sm:grid'
