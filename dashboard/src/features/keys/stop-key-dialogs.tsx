import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { failureFrom } from '../../api/client/failure.ts'
import { type ApiKey, changeKey, revokeKey } from '../../api/keys.ts'
import { KEY_TEXT as TEXT } from '../../messages/keys.ts'
import { ConfirmDialog } from '../../ui/dialogs/dialog.tsx'
import { FormFailure } from '../../ui/feedback/failure.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { Field } from '../../ui/field.tsx'
import { useKeysRefresh } from './use-key-actions.ts'

const WEEK_MS = 7 * 24 * 60 * 60 * 1000

/** Revokes a key permanently. For a recently used key, its name must be typed to confirm. */
export function RevokeKeyDialog({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const [typed, setTyped] = useState('')
  const recentlyUsed = apiKey.last_used_at !== null && Date.now() - Date.parse(apiKey.last_used_at) < WEEK_MS
  const revoking = useMutation({
    mutationFn: () => revokeKey(apiKey.id),
    onSuccess: () => {
      void toast(TEXT.revoked(apiKey.name))
      onClose()
    },
    ...useKeysRefresh(),
  })
  const named = !recentlyUsed || typed.trim() === apiKey.name
  return (
    <ConfirmDialog
      title={TEXT.revokeTitle(apiKey.name)}
      text={TEXT.revokeText}
      cancelLabel={TEXT.keep}
      confirmLabel={TEXT.revoke}
      busy={revoking.isPending || !named}
      onCancel={onClose}
      onConfirm={() => revoking.mutate()}
    >
      {recentlyUsed && (
        <Field label={TEXT.revokeName} hint={TEXT.revokeType(apiKey.name)}>
          {(control) => (
            <input {...control} autoComplete="off" value={typed} onChange={(event) => setTyped(event.target.value)} />
          )}
        </Field>
      )}
      <FormFailure failure={failureFrom(revoking)} />
    </ConfirmDialog>
  )
}

/** Ends the grace period of a replaced key. */
export function StopOldKeyDialog({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
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
      cancelLabel={TEXT.keep}
      confirmLabel={TEXT.stopNow}
      busy={stopping.isPending}
      onCancel={onClose}
      onConfirm={() => stopping.mutate()}
    >
      <FormFailure failure={failureFrom(stopping)} />
    </ConfirmDialog>
  )
}
