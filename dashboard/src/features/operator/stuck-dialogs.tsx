import { discardStuck, retryStuck, type StuckLine } from '../../api/operator.ts'
import { OPERATOR_TEXT } from '../../messages/operator.ts'
import { Field } from '../../ui/field.tsx'
import { ActionForm, fieldText, useOperatorAction } from './action-form.tsx'

const { stuck: TEXT } = OPERATOR_TEXT

type DialogProps = { record: StuckLine; onClose: () => void }

/** The dialogs to book a stuck record or to discard it. */
export function StuckDialog({ how, ...rest }: DialogProps & { how: 'retry' | 'discard' }) {
  return how === 'retry' ? <RetryDialog {...rest} /> : <DiscardDialog {...rest} />
}

function RetryDialog({ record, onClose }: DialogProps) {
  const action = useOperatorAction((_: null) => retryStuck(record.id), TEXT.retried, onClose)
  return (
    <ActionForm title={TEXT.retry} action={action} onClose={onClose} read={() => ({ values: null })}>
      {() => <p>{TEXT.retryText}</p>}
    </ActionForm>
  )
}

function DiscardDialog({ record, onClose }: DialogProps) {
  const action = useOperatorAction((note: string) => discardStuck(record.id, note), TEXT.discarded, onClose)
  return (
    <ActionForm
      title={TEXT.discard}
      action={action}
      onClose={onClose}
      read={(form) => {
        const note = fieldText(form, 'note')
        return note === '' ? { wrong: { note: TEXT.noteNeeded } } : { values: note }
      }}
    >
      {(errors) => (
        <>
          <p>{record.due ? TEXT.discardText : TEXT.discardUncharged}</p>
          <Field label={TEXT.note} hint={TEXT.noteHint} error={errors['note']}>
            {(control) => <input {...control} name="note" maxLength={500} />}
          </Field>
        </>
      )}
    </ActionForm>
  )
}
