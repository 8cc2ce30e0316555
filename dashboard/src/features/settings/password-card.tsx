import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { MIN_PASSWORD_LENGTH } from '../../../../server/core/accounts/password.ts'
import { accountQuery, signIn } from '../../api/account/account.ts'
import { KEEPS_NOTHING } from '../../api/account/apps.ts'
import { changePassword, settingsQuery } from '../../api/account/settings.ts'
import { ApiFailure, failureFrom, toApiFailure } from '../../api/client/failure.ts'
import { SETTINGS_TEXT as TEXT } from '../../messages/settings.ts'
import { Button } from '../../ui/button.tsx'
import { FormFailure } from '../../ui/feedback/failure.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { PasswordField } from '../../ui/field.tsx'
import { Card } from '../../ui/layout/card.tsx'
import { DisconnectAppsField } from './disconnect-apps-field.tsx'

type Errors = { current?: string; next?: string }
type Typed = { current: string; next: string }

/** Where a recent sign-in is required, signs in with the password that was typed, so that it is not asked for twice. */
async function withTypedPassword<T>(email: string, password: string, change: () => Promise<T>): Promise<T> {
  try {
    return await change()
  } catch (error) {
    if (toApiFailure(error).code !== 'recent_sign_in_required') throw error
    const outcome = await signIn(email, password).catch((refused) => {
      const failure = toApiFailure(refused)
      throw failure.status === 401
        ? new ApiFailure({ status: 401, code: 'invalid_password', message: TEXT.currentPasswordWrong })
        : failure
    })
    // The second factor is asked for by the dialog.
    if (outcome === 'second_factor') throw error
    return change()
  }
}

/** Changes the password. It is entered only once, because it can be shown and password managers fill it in. */
export function PasswordCard() {
  const queries = useQueryClient()
  const email = useQuery(accountQuery).data?.email ?? ''
  const [errors, setErrors] = useState<Errors>({})
  const [kept, setKept] = useState(KEEPS_NOTHING)
  const changing = useMutation({
    mutationFn: ({ current, next }: Typed) =>
      withTypedPassword(email, current, () => changePassword(current, next, kept)),
    onSuccess: async () => {
      void toast(TEXT.passwordChanged)
      await queries.invalidateQueries({ queryKey: ['settings'] })
      await queries.invalidateQueries({ queryKey: ['apps'] })
    },
    onError: (error) => {
      const { code, message } = toApiFailure(error)
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
  const settings = useQuery(settingsQuery).data
  if (settings && !settings.has_password)
    return (
      <Card title={TEXT.password}>
        <p className="text-muted">{settings.sends_mail ? TEXT.noPasswordMail : TEXT.noPassword}</p>
      </Card>
    )
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
        <DisconnectAppsField kept={kept} onChange={setKept} />
        <FormFailure failure={failure?.code === 'invalid_password' ? null : failure} />
        <Button type="submit" busy={changing.isPending} className="justify-self-start">
          {TEXT.changePassword}
        </Button>
      </form>
    </Card>
  )
}
