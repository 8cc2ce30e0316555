import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { MIN_PASSWORD_LENGTH } from '../../../server/core/accounts/password.ts'
import { resetPassword } from '../api/account/settings.ts'
import { failureFrom } from '../api/client/failure.ts'
import { takeToken } from '../features/settings/link-token.ts'
import { SETTINGS_TEXT as TEXT } from '../messages/settings.ts'
import { SIGN_IN_TEXT } from '../messages/sign-in.ts'
import { Button, buttonClass } from '../ui/button.tsx'
import { FormFailure } from '../ui/feedback/failure.tsx'
import { PasswordField } from '../ui/field.tsx'
import { AuthLayout } from '../ui/layout/auth-layout.tsx'

/** `/reset-password#token=`: sets a new password, once. */
export function ResetPassword() {
  const [token] = useState(takeToken)
  const [error, setError] = useState<string>()
  const setting = useMutation({ mutationFn: (password: string) => resetPassword(token ?? '', password) })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const password = String(new FormData(event.currentTarget).get('password') ?? '')
    setError(password.length < MIN_PASSWORD_LENGTH ? SIGN_IN_TEXT.passwordShort : undefined)
    if (password.length < MIN_PASSWORD_LENGTH)
      return event.currentTarget.querySelector<HTMLInputElement>('[name=password]')?.focus()
    if (!setting.isPending) setting.mutate(password)
  }
  const failure = failureFrom(setting)
  const isOver = token === null || failure?.code === 'invalid_token'
  return (
    <AuthLayout title={TEXT.reset}>
      {setting.isSuccess ? (
        <>
          <p role="status" className="rounded-md bg-ok-soft px-3 py-2 text-ok">
            {TEXT.passwordSet}
          </p>
          <Link to="/sign-in" className={buttonClass('primary')}>
            {SIGN_IN_TEXT.signIn}
          </Link>
        </>
      ) : isOver ? (
        <>
          <p role="alert" className="rounded-md bg-bad-soft px-3 py-2 text-bad">
            {failure?.message ?? TEXT.badLink}
          </p>
          <Link to="/forgot-password" className={buttonClass('primary')}>
            {TEXT.askAgain}
          </Link>
        </>
      ) : (
        <form noValidate onSubmit={submit} className="grid gap-4">
          <PasswordField
            label={TEXT.newPassword}
            name="password"
            autoComplete="new-password"
            required
            hint={SIGN_IN_TEXT.passwordHint}
            error={error}
          />
          <FormFailure failure={failure} />
          <Button type="submit" tone="primary" busy={setting.isPending}>
            {TEXT.setPassword}
          </Button>
        </form>
      )}
    </AuthLayout>
  )
}
