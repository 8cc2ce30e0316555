import { useState } from 'react'
import { removeApi } from '../../../api/apis.ts'
import { failureFrom } from '../../../api/client/failure.ts'
import { API_TEXT as TEXT } from '../../../messages/apis.ts'
import { ConfirmAction } from '../../../ui/dialogs/confirm-action.tsx'
import { Field } from '../../../ui/field.tsx'
import { useOperatorAction } from '../action-form.tsx'

/** Removes an API. Its name must be typed, because the name is lost for a month. */
export function RemoveApiDialog({ name, onClose, onRemoved }: RemoveApiProps) {
  const [typed, setTyped] = useState('')
  const removing = useOperatorAction(() => removeApi(name), TEXT.removed(name), onRemoved)
  return (
    <ConfirmAction
      title={TEXT.removeTitle(name)}
      text={TEXT.removeText}
      cancelLabel={TEXT.keep}
      confirmLabel={TEXT.remove}
      action={removing}
      failure={failureFrom(removing)}
      blocked={typed.trim() !== name}
      onClose={onClose}
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
    </ConfirmAction>
  )
}

type RemoveApiProps = { name: string; onClose: () => void; onRemoved: () => void }
