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
import { listState } from '../../api/client/list-state.ts'
import { SECOND_FACTOR_TEXT as TEXT } from '../../messages/second-factor.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmAction } from '../../ui/dialogs/confirm-action.tsx'
import { FormFailure } from '../../ui/feedback/failure.tsx'
import { Empty } from '../../ui/feedback/states.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { TimeAgo } from '../../ui/format/time.tsx'
import { type Column, Table } from '../../ui/layout/table.tsx'
import { Name } from '../../ui/name.tsx'
import { deviceName } from './device-name.ts'

/** The owner's passkeys, to add and to remove. */
export function Passkeys() {
  const queries = useQueryClient()
  const passkeys = useQuery(passkeysQuery)
  const [asked, setAsked] = useState<Passkey | null>(null)
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
      <div className="rounded-xl border border-line">
        <Table
          caption={TEXT.passkeys}
          columns={columnsOf(setAsked)}
          rowKey={({ id }) => id}
          state={{ rows: passkeys.data, ...listState(passkeys) }}
          empty={<Empty>{TEXT.noPasskeys}</Empty>}
        />
      </div>
      {asked && <RemoveDialog passkey={asked} onClose={() => setAsked(null)} onRemoved={refresh} />}
    </div>
  )
}

function columnsOf(onRemove: (passkey: Passkey) => void): readonly Column<Passkey>[] {
  const { columns } = TEXT
  return [
    { id: 'name', head: columns.name, name: true, cell: (passkey) => <Name wide>{nameOf(passkey)}</Name> },
    { id: 'added', head: TEXT.added, cell: ({ createdAt: at }) => <TimeAgo at={at} /> },
    {
      id: 'act',
      head: columns.act,
      silent: true,
      numeric: true,
      cell: (passkey) => (
        <Button aria-label={TEXT.removePasskeyNamed(nameOf(passkey))} onClick={() => onRemove(passkey)}>
          {TEXT.removePasskey}
        </Button>
      ),
    },
  ]
}

function nameOf({ name }: Passkey): string {
  return name ?? TEXT.unnamed
}

function RemoveDialog({ passkey, onClose, onRemoved }: RemoveProps) {
  const removing = useMutation({
    mutationFn: () => removePasskey(passkey.id),
    onSuccess: async () => {
      void toast(TEXT.passkeyRemoved)
      onClose()
      await onRemoved()
    },
  })
  return (
    <ConfirmAction
      title={TEXT.removePasskeyNamed(nameOf(passkey))}
      text={TEXT.removePasskeyText}
      cancelLabel={TEXT.cancel}
      confirmLabel={TEXT.removePasskey}
      action={removing}
      failure={failureFrom(removing)}
      onClose={onClose}
    />
  )
}

type RemoveProps = { passkey: Passkey; onClose: () => void; onRemoved: () => Promise<void> }
