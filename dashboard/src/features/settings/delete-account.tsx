import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { closeAccount } from '../../api/account/settings.ts'
import { failureFrom } from '../../api/client/failure.ts'
import { SETTINGS_TEXT as TEXT } from '../../messages/settings.ts'
import { ConfirmDialog } from '../../ui/dialogs/dialog.tsx'
import { FormFailure } from '../../ui/feedback/failure.tsx'
import { Field } from '../../ui/field.tsx'
import { balanceUsd } from '../../ui/format/money.ts'

/** Confirms the deletion of the account: states what is forfeited and requires the email address to be typed. */
export function DeleteAccount({ email, balance, onCancel }: { email: string; balance: number; onCancel: () => void }) {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const [typed, setTyped] = useState('')
  const [error, setError] = useState<string>()
  const closing = useMutation({
    mutationFn: closeAccount,
    onSuccess: async () => {
      await navigate({ to: '/sign-in', state: { isAccountDeleted: true } })
      queries.clear()
    },
  })
  const act = () => {
    const matches = typed.trim().toLowerCase() === email.toLowerCase()
    setError(matches ? undefined : TEXT.deleteMismatch)
    if (matches) closing.mutate(typed)
  }
  return (
    <ConfirmDialog
      title={TEXT.deleteAccount}
      text={TEXT.deleteText}
      cancelLabel={TEXT.keepAccount}
      confirmLabel={TEXT.deleteAccount}
      busy={closing.isPending}
      onCancel={onCancel}
      onConfirm={act}
    >
      <p className="rounded-md bg-warn-soft px-3 py-2 text-warn">
        {balance > 0 ? TEXT.deleteForfeits(balanceUsd(balance)) : TEXT.deleteNothing}
      </p>
      <Field label={TEXT.deleteConfirm(email)} error={error}>
        {(control) => (
          <input
            {...control}
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
            autoComplete="off"
            spellCheck={false}
          />
        )}
      </Field>
      <FormFailure failure={failureFrom(closing)} />
    </ConfirmDialog>
  )
}
