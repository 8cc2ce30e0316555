import { useState } from 'react'
import { removeApi } from '../../../api/apis.ts'
import { failureFrom } from '../../../api/client/failure.ts'
import { API_TEXT as TEXT } from '../../../messages/apis.ts'
import { ConfirmDialog } from '../../../ui/dialogs/dialog.tsx'
import { FormFailure } from '../../../ui/feedback/failure.tsx'
import { Field } from '../../../ui/field.tsx'
import { useOperatorAction } from '../action-form.tsx'

/** Removes an API. Its name must be typed, because the name is lost for a month. */
export function RemoveApiDialog({ name, onClose, onRemoved }: RemoveApiProps) {
  const [typed, setTyped] = useState('')
  const removing = useOperatorAction(() => removeApi(name), TEXT.removed(name), onRemoved)
  return (
    <ConfirmDialog
      title={TEXT.removeTitle(name)}
      text={TEXT.removeText}
      cancelLabel={TEXT.keep}
      confirmLabel={TEXT.remove}
      busy={removing.isPending || typed.trim() !== name}
      onCancel={onClose}
      onConfirm={() => removing.mutate()}
    >
      <Field label={TEXT.removeName} hint={TEXT.removeType(name)}>
        {(control) => (
          <input
            {...control}
            autoComplete="off"
            spellCheck={false}
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
          />
        )}
      </Field>
      <FormFailure failure={failureFrom(removing)} />
    </ConfirmDialog>
  )
}

type RemoveApiProps = { name: string; onClose: () => void; onRemoved: () => void }
