import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { failureFrom } from '../../api/client/failure.ts'
import { type ApiKey, changeKey, replacedKeysQuery, revokeKey } from '../../api/keys.ts'
import { KEY_TEXT as TEXT } from '../../messages/keys.ts'
import { ConfirmAction } from '../../ui/dialogs/confirm-action.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { Choice, Field } from '../../ui/field.tsx'
import { formatDateTime } from '../../ui/format/time.tsx'
import { keyHint } from './key-facts.tsx'
import { useKeysRefresh } from './use-key-actions.ts'

const WEEK_MS = 7 * 24 * 60 * 60 * 1000

/**
 * Revokes a key permanently, and on request those that it replaced and that still work. For a recently used key, its name must be typed
 * to confirm.
 */
export function RevokeKeyDialog({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const [typed, setTyped] = useState('')
  const recentlyUsed = apiKey.last_used_at !== null && Date.now() - Date.parse(apiKey.last_used_at) < WEEK_MS
  const [alsoRevoked, setAlsoRevoked] = useState<readonly string[]>([])
  const replaced = useQuery(replacedKeysQuery(apiKey))
  const revoking = useMutation({
    mutationFn: async () => {
      // The old ones first: if one fails, the dialog stays, and what is left can be tried again.
      for (const id of alsoRevoked) await revokeKey(id)
      await revokeKey(apiKey.id)
    },
    onSuccess: () => {
      void toast(alsoRevoked.length > 0 ? TEXT.revokedBoth(apiKey.name) : TEXT.revoked(apiKey.name))
      onClose()
    },
    ...useKeysRefresh(),
  })
  const named = !recentlyUsed || typed.trim() === apiKey.name
  return (
    <ConfirmAction
      title={TEXT.revokeTitle(apiKey.name)}
      text={TEXT.revokeText}
      cancelLabel={TEXT.keep}
      confirmLabel={TEXT.revoke}
      action={revoking}
      failure={failureFrom(revoking)}
      blocked={replaced.isLoading || !named}
      onClose={onClose}
    >
      {replaced.data?.map((key) => (
        <div key={key.id} className="grid gap-2 rounded-xl bg-warn-soft px-4 py-3">
          <p>{TEXT.oldStillWorks(key.name, keyHint(key), formatDateTime(key.stops_at))}</p>
          <Choice
            type="checkbox"
            label={TEXT.revokeOld(keyHint(key))}
            checked={alsoRevoked.includes(key.id)}
            onChange={({ target }) =>
              setAlsoRevoked([...alsoRevoked.filter((id) => id !== key.id), ...(target.checked ? [key.id] : [])])
            }
          />
        </div>
      ))}
      {recentlyUsed && (
        <Field label={TEXT.revokeName} hint={TEXT.revokeType(apiKey.name)}>
          {(control) => (
            <input {...control} autoComplete="off" value={typed} onChange={(event) => setTyped(event.target.value)} />
          )}
        </Field>
      )}
    </ConfirmAction>
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
    <ConfirmAction
      title={TEXT.stopTitle}
      text={TEXT.stopText(apiKey.name)}
      cancelLabel={TEXT.keep}
      confirmLabel={TEXT.stopNow}
      action={stopping}
      failure={failureFrom(stopping)}
      onClose={onClose}
    />
  )
}
