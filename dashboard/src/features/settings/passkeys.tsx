import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import {
  addPasskey,
  canUsePasskeys,
  isCancelled,
  type Passkey,
  passkeysQuery,
  removePasskey,
} from '../../api/account/second-factor.ts'
import { failureFrom } from '../../api/client/failure.ts'
import { SECOND_FACTOR_TEXT as TEXT } from '../../messages/second-factor.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/dialogs/dialog.tsx'
import { FormFailure } from '../../ui/feedback/failure.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { TimeAgo } from '../../ui/format/time.tsx'
import { deviceName } from './device-name.ts'

/** The owner's passkeys, to add and to remove. */
export function Passkeys() {
  const queries = useQueryClient()
  const passkeys = useQuery(passkeysQuery).data
  const refresh = () => queries.invalidateQueries({ queryKey: ['settings'] })
  const adding = useMutation({
    mutationFn: () => addPasskey(deviceName(navigator.userAgent)),
    onSuccess: async () => {
      void toast(TEXT.passkeyAdded)
      await refresh()
    },
  })
  return (
    <div className="grid gap-3">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <div className="grid min-w-0 flex-1 basis-56 gap-1">
          <h3 className="font-medium">{TEXT.passkeys}</h3>
          <p className="small text-muted">{TEXT.passkeysText}</p>
        </div>
        {canUsePasskeys() && (
          <Button busy={adding.isPending} onClick={() => adding.mutate()}>
            {TEXT.addPasskey}
          </Button>
        )}
      </div>
      {adding.error && isCancelled(adding.error) ? (
        <p role="alert" className="text-bad">
          {TEXT.passkeyFailed}
        </p>
      ) : (
        <FormFailure failure={failureFrom(adding)} />
      )}
      {passkeys?.length === 0 && <p className="small text-muted">{TEXT.noPasskeys}</p>}
      {passkeys && passkeys.length > 0 && (
        <ul className="grid divide-y divide-line rounded-md border border-line">
          {passkeys.map((passkey) => (
            <Line key={passkey.id} passkey={passkey} onRemoved={refresh} />
          ))}
        </ul>
      )}
    </div>
  )
}

function Line({ passkey, onRemoved }: { passkey: Passkey; onRemoved: () => Promise<void> }) {
  const [asking, setAsking] = useState(false)
  const name = passkey.name ?? TEXT.unnamed
  const removing = useMutation({
    mutationFn: () => removePasskey(passkey.id),
    onSuccess: async () => {
      void toast(TEXT.passkeyRemoved)
      setAsking(false)
      await onRemoved()
    },
  })
  return (
    <li className="flex flex-wrap items-center justify-between gap-3 px-3 py-2">
      <span className="grid">
        <span className="font-medium">{name}</span>
        <span className="small text-muted">
          {TEXT.added} <TimeAgo at={passkey.createdAt} />
        </span>
      </span>
      <Button aria-label={TEXT.removePasskeyNamed(name)} onClick={() => setAsking(true)}>
        {TEXT.removePasskey}
      </Button>
      {asking && (
        <ConfirmDialog
          title={TEXT.removePasskeyNamed(name)}
          text={TEXT.removePasskeyText}
          cancelLabel={TEXT.cancel}
          confirmLabel={TEXT.removePasskey}
          busy={removing.isPending}
          onCancel={() => setAsking(false)}
          onConfirm={() => removing.mutate()}
        >
          <FormFailure failure={failureFrom(removing)} />
        </ConfirmDialog>
      )}
    </li>
  )
}
