import type { ReactNode } from 'react'

export type DialogProps = {
  title: ReactNode
  onClose: () => void
  firm?: boolean
  wide?: boolean
  /** Shown at the right edge, with the full height of the window. */
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

/** The layout of the buttons of a dialog. */
export const BUTTON_ROW = 'flex flex-wrap justify-end gap-2 max-sm:grid'
