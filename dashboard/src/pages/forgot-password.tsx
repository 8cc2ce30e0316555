import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { asFailure, failureIn } from '../api/failure.ts'
import { askForReset } from '../api/settings.ts'
import { Button } from '../ui/button.tsx'
import { CodeBlock } from '../ui/code-block.tsx'
import { DoorPage } from '../ui/door-page.tsx'
import { Field } from '../ui/field.tsx'
import { FormFailure } from '../ui/states.tsx'
import { useCountdown } from '../ui/use-countdown.ts'
import { SETTINGS_WORDS as WORDS } from '../words/settings.ts'
import { SIGN_IN_WORDS } from '../words/sign-in.ts'

/** Asks for a link that sets a new password; where no mail goes out, says how the operator makes one. */
export function ForgotPassword() {
  const [wrong, setWrong] = useState<string>()
  const [asked, setAsked] = useState('')
  const countdown = useCountdown()
  const sending = useMutation({
    mutationFn: askForReset,
    onError: (error) => countdown.start(asFailure(error).retryAfterSeconds ?? 0),
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const email = String(new FormData(event.currentTarget).get('email') ?? '').trim()
    const isAddress = email.includes('@')
    setWrong(isAddress ? undefined : SIGN_IN_WORDS.emailNeeded)
    if (!isAddress) return event.currentTarget.querySelector<HTMLInputElement>('[name=email]')?.focus()
    setAsked(email)
    if (!sending.isPending && countdown.left === 0) sending.mutate(email)
  }
  const failure = failureIn(sending)
  const noMail = failure?.code === 'invalid_state'
  return (
    <DoorPage title={WORDS.forgot}>
      {sending.isSuccess ? (
        <p role="status" className="rounded-md bg-ok-soft px-3 py-2 text-ok">
          {WORDS.linkSent}
        </p>
      ) : (
        <form noValidate onSubmit={submit} className="grid gap-4">
          <p className="text-muted">{WORDS.forgotText}</p>
          <Field label={SIGN_IN_WORDS.email} error={wrong}>
            {(control) => <input {...control} name="email" type="email" autoComplete="username" required />}
          </Field>
          {countdown.left > 0 ? (
            <p role="status" className="rounded-md bg-warn-soft px-3 py-2 text-warn">
              {SIGN_IN_WORDS.waitFor(countdown.left)}
            </p>
          ) : (
            <FormFailure failure={noMail ? null : failure} />
          )}
          {noMail && (
            <div role="alert" className="grid min-w-0 gap-2">
              <p>{WORDS.noMail}</p>
              <CodeBlock
                label={WORDS.reset}
                code={`bun run gateway operator reset-link ${asked}`}
                copyLabel={WORDS.copyCommand}
              />
            </div>
          )}
          <Button type="submit" tone="primary" busy={sending.isPending || countdown.left > 0}>
            {WORDS.sendLink}
          </Button>
        </form>
      )}
      <Link to="/sign-in" className="text-accent underline">
        {WORDS.backToSignIn}
      </Link>
    </DoorPage>
  )
}
