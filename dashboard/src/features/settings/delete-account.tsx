import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { failureIn } from '../../api/failure.ts'
import { closeAccount } from '../../api/settings.ts'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import { balanceUsd } from '../../ui/money.ts'
import { FormFailure } from '../../ui/states.tsx'
import { SETTINGS_WORDS as WORDS } from '../../words/settings.ts'

/** The last question: says what is forfeited, and takes the address typed as the answer. */
export function DeleteAccount({ email, balance, onKeep }: { email: string; balance: number; onKeep: () => void }) {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const [typed, setTyped] = useState('')
  const [wrong, setWrong] = useState<string>()
  const closing = useMutation({
    mutationFn: closeAccount,
    onSuccess: async () => {
      await navigate({ to: '/sign-in' })
      queries.clear()
    },
  })
  const act = () => {
    const matches = typed.trim().toLowerCase() === email.toLowerCase()
    setWrong(matches ? undefined : WORDS.deleteMismatch)
    if (matches) closing.mutate(typed)
  }
  return (
    <ConfirmDialog
      title={WORDS.deleteAccount}
      text={WORDS.deleteText}
      keep={WORDS.keepAccount}
      act={WORDS.deleteAccount}
      busy={closing.isPending}
      onKeep={onKeep}
      onAct={act}
    >
      <p className="rounded-md bg-warn-soft px-3 py-2 text-warn">
        {balance > 0 ? WORDS.deleteForfeits(balanceUsd(balance)) : WORDS.deleteNothing}
      </p>
      <Field label={WORDS.deleteConfirm(email)} error={wrong}>
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
      <FormFailure failure={failureIn(closing)} />
    </ConfirmDialog>
  )
}
