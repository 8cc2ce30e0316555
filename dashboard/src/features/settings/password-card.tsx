import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { accountQuery } from '../../api/account/account.ts'
import { changePassword } from '../../api/account/settings.ts'
import { failureFrom, toFailure } from '../../api/client/failure.ts'
import { SETTINGS_TEXT as TEXT } from '../../messages/settings.ts'
import { Button } from '../../ui/button.tsx'
import { FormFailure } from '../../ui/feedback/failure.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { PasswordField } from '../../ui/field.tsx'
import { Card } from '../../ui/layout/card.tsx'
import { DisconnectAppsField, useAppCount } from './disconnect-apps-field.tsx'

const MIN_PASSWORD_LENGTH = 12

type Errors = { current?: string; next?: string }

/** Changes the password. It is entered only once, because it can be shown and password managers fill it in. */
export function PasswordCard() {
  const queries = useQueryClient()
  const email = useQuery(accountQuery).data?.email ?? ''
  const [errors, setErrors] = useState<Errors>({})
  const [disconnectApps, setDisconnectApps] = useState(true)
  const apps = useAppCount()
  const changing = useMutation({
    mutationFn: ({ current, next }: { current: string; next: string }) =>
      changePassword(current, next, !disconnectApps),
    onSuccess: async () => {
      void toast(TEXT.passwordChanged)
      await queries.invalidateQueries({ queryKey: ['settings'] })
      await queries.invalidateQueries({ queryKey: ['apps'] })
    },
    onError: (error) => {
      const { code, message } = toFailure(error)
      if (code === 'invalid_password') setErrors({ current: message })
    },
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = event.currentTarget
    const data = new FormData(form)
    const typed = { current: String(data.get('current') ?? ''), next: String(data.get('next') ?? '') }
    const wrong: Errors = {
      ...(typed.current === '' && { current: TEXT.passwordNeeded }),
      ...(typed.next.length < MIN_PASSWORD_LENGTH && { next: TEXT.passwordShort }),
    }
    setErrors(wrong)
    const [first] = Object.keys(wrong)
    if (first) return form.querySelector<HTMLInputElement>(`[name=${first}]`)?.focus()
    if (!changing.isPending) changing.mutate(typed, { onSuccess: () => form.reset() })
  }
  const failure = failureFrom(changing)
  return (
    <Card title={TEXT.password}>
      <p className="text-muted">{TEXT.passwordText}</p>
      <form noValidate onSubmit={submit} className="grid max-w-lg gap-4">
        {/* Tells a password manager whose password this is. */}
        <input type="text" name="username" autoComplete="username" value={email} readOnly hidden />
        <PasswordField
          label={TEXT.currentPassword}
          name="current"
          autoComplete="current-password"
          required
          error={errors.current}
        />
        <PasswordField
          label={TEXT.newPassword}
          name="next"
          autoComplete="new-password"
          required
          hint={TEXT.passwordShort}
          error={errors.next}
        />
        <DisconnectAppsField count={apps} checked={disconnectApps} onChange={setDisconnectApps} />
        <FormFailure failure={failure?.code === 'invalid_password' ? null : failure} />
        <Button type="submit" busy={changing.isPending} className="justify-self-start">
          {TEXT.changePassword}
        </Button>
      </form>
    </Card>
  )
}
