import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { mayDo } from '../../../../server/core/accounts/roles.ts'
import { giveKey, membersQuery } from '../../api/account/workspaces.ts'
import { failureFrom } from '../../api/client/failure.ts'
import type { ApiKey } from '../../api/keys.ts'
import { KEY_TEXT as TEXT } from '../../messages/keys.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog, DialogButtons } from '../../ui/dialogs/dialog.tsx'
import { FormFailure } from '../../ui/feedback/failure.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { Choice, Choices } from '../../ui/field.tsx'
import { useKeysRefresh } from './use-key-actions.ts'

/** Gives a key to another member or to the workspace. It works on; from then on it counts in the budgets of whom it belongs to. */
export function GiveKeyDialog({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const members = useQuery(membersQuery).data?.members ?? []
  const holders = members.filter(({ role }) => mayDo(role, 'keys:write'))
  const now = apiKey.made_by?.id ?? null
  const [to, setTo] = useState(now)
  const giving = useMutation({
    mutationFn: () => giveKey(apiKey.id, to),
    onSuccess: () => {
      void toast(TEXT.given(apiKey.name))
      onClose()
    },
    ...useKeysRefresh(),
  })
  const choices = [
    ...holders.map(({ id, name, email }) => ({ id, label: `${name} (${email})` })),
    { id: null, label: TEXT.ofWorkspace },
  ]
  return (
    <Dialog title={TEXT.giveTitle(apiKey.name)} onClose={onClose}>
      <p className="text-muted">{TEXT.giveText}</p>
      <Choices legend={TEXT.giveTo}>
        {choices.map(({ id, label }) => (
          <Choice
            key={id}
            name="to"
            label={<span className="wrap-anywhere">{label}</span>}
            checked={to === id}
            onChange={() => setTo(id)}
          />
        ))}
      </Choices>
      <FormFailure failure={failureFrom(giving)} />
      <DialogButtons>
        <Button onClick={onClose}>{TEXT.cancel}</Button>
        <Button tone="primary" busy={giving.isPending} onClick={() => (to === now ? onClose() : giving.mutate())}>
          {TEXT.give}
        </Button>
      </DialogButtons>
    </Dialog>
  )
}
