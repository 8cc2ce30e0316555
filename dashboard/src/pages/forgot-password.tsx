import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { requestPasswordReset } from '../api/account/settings.ts'
import { failureFrom, toApiFailure } from '../api/client/failure.ts'
import { SETTINGS_TEXT as TEXT } from '../messages/settings.ts'
import { SIGN_IN_TEXT } from '../messages/sign-in.ts'
import { useCountdown } from '../ui/browser/use-countdown.ts'
import { Button } from '../ui/button.tsx'
import { CodeBlock } from '../ui/code/code-block.tsx'
import { FormFailure } from '../ui/feedback/failure.tsx'
import { Field } from '../ui/field.tsx'
import { AuthLayout } from '../ui/layout/auth-layout.tsx'

/** Requests a link to set a new password. If the gateway does not send email, explains how the operator can create one. */
export function ForgotPassword() {
  const [error, setError] = useState<string>()
  const [submittedEmail, setSubmittedEmail] = useState('')
  const countdown = useCountdown()
  const sending = useMutation({
    mutationFn: requestPasswordReset,
    onError: (error) => countdown.start(toApiFailure(error).retryAfterSeconds ?? 0),
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const email = String(new FormData(event.currentTarget).get('email') ?? '').trim()
    const isAddress = email.includes('@')
    setError(isAddress ? undefined : SIGN_IN_TEXT.emailNeeded)
    if (!isAddress) return event.currentTarget.querySelector<HTMLInputElement>('[name=email]')?.focus()
    setSubmittedEmail(email)
    if (!sending.isPending && countdown.left === 0) sending.mutate(email)
  }
  const failure = failureFrom(sending)
  const noMail = failure?.code === 'invalid_state'
  return (
    <AuthLayout title={TEXT.forgot}>
      {sending.isSuccess ? (
        <p role="status" className="rounded-md bg-ok-soft px-3 py-2 text-ok">
          {TEXT.linkSent}
        </p>
      ) : (
        <form noValidate onSubmit={submit} className="grid gap-4">
          <p className="text-muted">{TEXT.forgotText}</p>
          <Field label={SIGN_IN_TEXT.email} error={error}>
            {(control) => <input {...control} name="email" type="email" autoComplete="username" required />}
          </Field>
          <FormFailure failure={noMail ? null : failure} />
          {noMail && (
            <div role="alert" className="grid min-w-0 gap-2">
              <p>
                {failure.message} {TEXT.noMail}
              </p>
              <CodeBlock
                label={TEXT.reset}
                code={`bun run gateway operator reset-link ${submittedEmail}`}
                copyLabel={TEXT.copyCommand}
              />
            </div>
          )}
          <Button type="submit" tone="primary" busy={sending.isPending || countdown.left > 0}>
            {TEXT.sendLink}
          </Button>
        </form>
      )}
      <Link to="/sign-in" className="text-accent underline">
        {TEXT.backToSignIn}
      </Link>
    </AuthLayout>
  )
}
