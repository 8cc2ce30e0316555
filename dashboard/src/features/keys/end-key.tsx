import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { failureIn } from '../../api/failure.ts'
import { type ApiKey, changeKey, revokeKey } from '../../api/keys.ts'
import { KEY_TEXT as TEXT } from '../../messages/keys.ts'
import { ConfirmDialog } from '../../ui/dialogs/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import { FormFailure } from '../../ui/states.tsx'
import { toast } from '../../ui/toast.ts'
import { useKeysRefresh } from './use-key-doings.ts'

const WEEK_MS = 7 * 24 * 60 * 60 * 1000

/** Deletes a key for good. One that was used lately is named once more, by typing. */
export function DeleteKey({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const [typed, setTyped] = useState('')
  const lately = apiKey.last_used_at !== null && Date.now() - Date.parse(apiKey.last_used_at) < WEEK_MS
  const deleting = useMutation({
    mutationFn: () => revokeKey(apiKey.id),
    onSuccess: () => {
      void toast(TEXT.deleted(apiKey.name))
      onClose()
    },
    ...useKeysRefresh(),
  })
  const named = !lately || typed.trim() === apiKey.name
  return (
    <ConfirmDialog
      title={TEXT.deleteTitle(apiKey.name)}
      text={TEXT.deleteText}
      keep={TEXT.keep}
      act={TEXT.remove}
      busy={deleting.isPending || !named}
      onKeep={onClose}
      onAct={() => deleting.mutate()}
    >
      {lately && (
        <Field label={TEXT.deleteName} hint={TEXT.deleteType(apiKey.name)}>
          {(control) => (
            <input {...control} autoComplete="off" value={typed} onChange={(event) => setTyped(event.target.value)} />
          )}
        </Field>
      )}
      <FormFailure failure={failureIn(deleting)} />
    </ConfirmDialog>
  )
}

/** Ends the grace of a key that was replaced. */
export function StopOldKey({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const stopping = useMutation({
    mutationFn: () => changeKey(apiKey.id, { stops_at: new Date().toISOString() }),
    onSuccess: () => {
      void toast(TEXT.stopped)
      onClose()
    },
    ...useKeysRefresh(),
  })
  return (
    <ConfirmDialog
      title={TEXT.stopTitle}
      text={TEXT.stopText(apiKey.name)}
      keep={TEXT.keep}
      act={TEXT.stopNow}
      busy={stopping.isPending}
      onKeep={onClose}
      onAct={() => stopping.mutate()}
    >
      <FormFailure failure={failureIn(stopping)} />
    </ConfirmDialog>
  )
}
