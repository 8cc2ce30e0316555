import type { ApiFailure } from '../../api/client/failure.ts'
import { FormFailure } from '../feedback/failure.tsx'
import { ConfirmDialog } from './dialog.tsx'
import type { ConfirmProps } from './dialog-props.ts'

/** Confirms a mutation and runs it: busy while it runs, and says why it failed. The mutation closes the dialog when it succeeds. */
export function ConfirmAction({ action, failure, blocked = false, onClose, children, ...words }: ConfirmActionProps) {
  return (
    <ConfirmDialog {...words} busy={action.isPending || blocked} onCancel={onClose} onConfirm={() => action.mutate()}>
      {children}
      <FormFailure failure={failure} />
    </ConfirmDialog>
  )
}

type ConfirmActionProps = Omit<ConfirmProps, 'busy' | 'onCancel' | 'onConfirm'> & {
  action: { readonly isPending: boolean; readonly mutate: () => void }
  failure: ApiFailure | null
  /** Whether something must be done in the dialog first. */
  blocked?: boolean
  onClose: () => void
}
