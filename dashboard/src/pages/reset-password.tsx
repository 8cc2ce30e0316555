import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { failureIn } from '../api/failure.ts'
import { resetPassword } from '../api/settings.ts'
import { takeToken } from '../features/settings/link-token.ts'
import { Button, buttonClass } from '../ui/button.tsx'
import { DoorPage } from '../ui/door-page.tsx'
import { PasswordField } from '../ui/field.tsx'
import { FormFailure } from '../ui/states.tsx'
import { SETTINGS_WORDS as WORDS } from '../words/settings.ts'
import { SIGN_IN_WORDS } from '../words/sign-in.ts'

const LEAST_CHARACTERS = 12

/** `/reset-password#token=`: sets a new password, once. */
export function ResetPassword() {
  const [token] = useState(takeToken)
  const [wrong, setWrong] = useState<string>()
  const setting = useMutation({ mutationFn: (password: string) => resetPassword(token ?? '', password) })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const password = String(new FormData(event.currentTarget).get('password') ?? '')
    setWrong(password.length < LEAST_CHARACTERS ? SIGN_IN_WORDS.passwordShort : undefined)
    if (password.length < LEAST_CHARACTERS)
      return event.currentTarget.querySelector<HTMLInputElement>('[name=password]')?.focus()
    if (!setting.isPending) setting.mutate(password)
  }
  const failure = failureIn(setting)
  const isOver = token === null || failure?.code === 'invalid_token'
  return (
    <DoorPage title={WORDS.reset}>
      {setting.isSuccess ? (
        <>
          <p role="status" className="rounded-md bg-ok-soft px-3 py-2 text-ok">
            {WORDS.passwordSet}
          </p>
          <Link to="/sign-in" className={buttonClass('primary')}>
            {SIGN_IN_WORDS.signIn}
          </Link>
        </>
      ) : isOver ? (
        <>
          <p role="alert" className="rounded-md bg-bad-soft px-3 py-2 text-bad">
            {WORDS.badLink}
          </p>
          <Link to="/forgot-password" className={buttonClass('primary')}>
            {WORDS.askAgain}
          </Link>
        </>
      ) : (
        <form noValidate onSubmit={submit} className="grid gap-4">
          <PasswordField
            label={WORDS.newPassword}
            name="password"
            autoComplete="new-password"
            required
            hint={SIGN_IN_WORDS.passwordHint}
            error={wrong}
          />
          <FormFailure failure={failure} />
          <Button type="submit" tone="primary" busy={setting.isPending}>
            {WORDS.setPassword}
          </Button>
        </form>
      )}
    </DoorPage>
  )
}
