import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { appsQuery, type ConnectedApp, disconnectApps, KEEPS_NOTHING, limitApp } from '../../api/account/apps.ts'
import { failureFrom } from '../../api/client/failure.ts'
import { APP_TEXT as TEXT } from '../../messages/apps.ts'
import { AppKeysField } from '../../ui/app-keys-field.tsx'
import { Button } from '../../ui/button.tsx'
import { ConfirmAction } from '../../ui/dialogs/confirm-action.tsx'
import { Dialog, DialogButtons } from '../../ui/dialogs/dialog.tsx'
import { FormFailure } from '../../ui/feedback/failure.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { LimitField, parseLimit } from './limit-field.tsx'

/** Confirms disconnecting an app, or all apps if `app` is null. */
export function DisconnectDialog({ app, onClose }: { app: ConnectedApp | null; onClose: () => void }) {
  const [kept, setKept] = useState(KEEPS_NOTHING)
  const all = useQuery(appsQuery).data?.apps ?? []
  const ending = useAppChange(
    () => disconnectApps(app?.client_id ?? null, kept),
    () => {
      void toast(app ? TEXT.disconnected(app.name) : TEXT.allDisconnected)
      onClose()
    },
  )
  return (
    <ConfirmAction
      title={app ? TEXT.disconnectTitle(app.name) : TEXT.disconnectAllTitle}
      text={TEXT.disconnectText}
      cancelLabel={TEXT.keep}
      confirmLabel={app ? TEXT.disconnect : TEXT.disconnectAll}
      action={ending}
      failure={failureFrom(ending)}
      onClose={onClose}
    >
      <AppKeysField
        apps={app ? [app] : all}
        kept={kept.keys}
        onChange={(keys) => setKept((before) => ({ ...before, keys }))}
      />
    </ConfirmAction>
  )
}

export function LimitDialog({ app, onClose }: { app: ConnectedApp; onClose: () => void }) {
  const [typed, setTyped] = useState(String(app.spending_limit ?? ''))
  const limit = parseLimit(typed)
  const saving = useAppChange(
    () => limitApp(app.client_id, limit === 'wrong' ? null : limit),
    () => {
      void toast(TEXT.saved)
      onClose()
    },
  )
  return (
    <Dialog title={TEXT.setLimitTitle(app.name)} onClose={onClose}>
      <LimitField value={typed} wrong={limit === 'wrong'} onChange={setTyped} />
      <FormFailure failure={failureFrom(saving)} />
      <DialogButtons>
        <Button onClick={onClose}>{TEXT.cancel}</Button>
        <Button tone="primary" busy={saving.isPending || limit === 'wrong'} onClick={() => saving.mutate()}>
          {TEXT.save}
        </Button>
      </DialogButtons>
    </Dialog>
  )
}

function useAppChange(change: () => Promise<unknown>, onSuccess: () => void) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: change,
    onSuccess,
    onSettled: () => queries.invalidateQueries({ queryKey: ['apps'] }),
  })
}
