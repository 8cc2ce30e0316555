import { useMutation, useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { accountQuery } from '../../api/account/account.ts'
import { settingsQuery } from '../../api/account/settings.ts'
import { failureFrom, toApiFailure } from '../../api/client/failure.ts'
import { SECOND_FACTOR_TEXT as TEXT } from '../../messages/second-factor.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog, DialogButtons } from '../../ui/dialogs/dialog.tsx'
import { FormFailure } from '../../ui/feedback/failure.tsx'
import { PasswordField } from '../../ui/field.tsx'

/** Asks for the password, if there is one, before a change of how the owner signs in. */
export function PasswordDialog({ title, text, submit, onDone, onClose }: PasswordDialogProps) {
  const email = useQuery(accountQuery).data?.email ?? ''
  const hasPassword = useQuery(settingsQuery).data?.has_password ?? true
  const [error, setError] = useState<string>()
  const sending = useMutation({
    mutationFn: submit,
    onSuccess: () => onDone?.(),
    onError: (failed) => {
      const { code, message } = toApiFailure(failed)
      if (code === 'invalid_password') setError(message)
    },
  })
  const onSubmit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const password = String(new FormData(event.currentTarget).get('password') ?? '')
    const isMissing = hasPassword && password === ''
    setError(isMissing ? TEXT.passwordNeeded : undefined)
    if (isMissing) return event.currentTarget.querySelector<HTMLInputElement>('[name=password]')?.focus()
    if (!sending.isPending) sending.mutate(password)
  }
  const failure = failureFrom(sending)
  return (
    <Dialog title={title} onClose={onClose}>
      <form noValidate onSubmit={onSubmit} className="grid gap-4">
        {text && <p className="text-muted">{text}</p>}
        {/* Tells a password manager whose password this is. */}
        <input type="text" name="username" autoComplete="username" value={email} readOnly hidden />
        {hasPassword && (
          <PasswordField label={TEXT.password} name="password" autoComplete="current-password" required error={error} />
        )}
        <FormFailure failure={failure?.code === 'invalid_password' ? null : failure} />
        <DialogButtons>
          <Button onClick={onClose}>{TEXT.cancel}</Button>
          <Button type="submit" tone="primary" busy={sending.isPending}>
            {TEXT.continue}
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  )
}

type PasswordDialogProps = {
  title: string
  text?: string
  submit: (password: string) => Promise<unknown>
  onDone?: () => void
  onClose: () => void
}
