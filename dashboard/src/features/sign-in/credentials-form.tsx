import { useMutation } from '@tanstack/react-query'
import { type FormEvent, type ReactNode, useState } from 'react'
import { MIN_PASSWORD_LENGTH } from '../../../../server/core/accounts/password.ts'
import { failureFrom, toApiFailure } from '../../api/client/failure.ts'
import { SIGN_IN_TEXT as TEXT } from '../../messages/sign-in.ts'
import { useCountdown } from '../../ui/browser/use-countdown.ts'
import { Button } from '../../ui/button.tsx'
import { FormFailure } from '../../ui/feedback/failure.tsx'
import { Field, PasswordField } from '../../ui/field.tsx'

type Errors = { email?: string; password?: string }

/** Email and password, to sign in or to create an account. Input is kept if the server refuses it. */
export function CredentialsForm({ purpose, submit, onDone, email = '', children }: CredentialsFormProps) {
  const [errors, setErrors] = useState<Errors>({})
  const countdown = useCountdown()
  const sending = useMutation({
    mutationFn: (typed: { email: string; password: string }) => submit(typed.email, typed.password),
    onSuccess: () => onDone?.(),
    onError: (error) => countdown.start(toApiFailure(error).retryAfterSeconds ?? 0),
  })
  const onSubmit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const typed = { email: String(form.get('email')).trim(), password: String(form.get('password')) }
    const wrong = validate(typed, purpose)
    setErrors(wrong)
    const first = Object.keys(wrong)[0]
    if (first) return event.currentTarget.querySelector<HTMLInputElement>(`[name=${first}]`)?.focus()
    if (countdown.left === 0 && !sending.isPending) sending.mutate(typed)
  }
  const signingUp = purpose === 'sign-up'
  return (
    <form noValidate onSubmit={onSubmit} className="grid gap-4">
      <Field label={TEXT.email} error={errors.email}>
        {(control) => (
          <input {...control} name="email" type="email" autoComplete="username" required defaultValue={email} />
        )}
      </Field>
      <PasswordField
        label={TEXT.password}
        name="password"
        required
        autoComplete={signingUp ? 'new-password' : 'current-password'}
        hint={signingUp ? TEXT.passwordHint : undefined}
        error={errors.password}
      />
      <FormFailure failure={failureFrom(sending)} />
      <Button type="submit" tone="primary" busy={sending.isPending || countdown.left > 0}>
        {signingUp ? TEXT.signUp : TEXT.signIn}
      </Button>
      {children}
    </form>
  )
}

type CredentialsFormProps = {
  purpose: 'sign-in' | 'sign-up'
  submit: (email: string, password: string) => Promise<void>
  onDone?: () => void
  email?: string
  children?: ReactNode
}

function validate({ email, password }: { email: string; password: string }, purpose: 'sign-in' | 'sign-up'): Errors {
  return {
    ...(!email.includes('@') && { email: TEXT.emailNeeded }),
    ...(password === '' && { password: TEXT.passwordNeeded }),
    ...(purpose === 'sign-up' &&
      password !== '' &&
      password.length < MIN_PASSWORD_LENGTH && { password: TEXT.passwordShort }),
  }
}
