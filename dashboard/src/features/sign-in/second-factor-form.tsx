import { useMutation } from '@tanstack/react-query'
import { type FormEvent, type ReactNode, useState } from 'react'
import { signInWithCode, signInWithRecoveryCode } from '../../api/account/second-factor.ts'
import { failureFrom, toApiFailure } from '../../api/client/failure.ts'
import { SECOND_FACTOR_TEXT as TEXT } from '../../messages/second-factor.ts'
import { useCountdown } from '../../ui/browser/use-countdown.ts'
import { Button } from '../../ui/button.tsx'
import { FormFailure } from '../../ui/feedback/failure.tsx'
import { Field } from '../../ui/field.tsx'

/** The second half of a sign-in: a code of the authenticator app, or a recovery code. */
export function SecondFactorForm({ onDone, onBack, children }: SecondFactorFormProps) {
  const [recovers, setRecovers] = useState(false)
  const [error, setError] = useState<string>()
  const countdown = useCountdown()
  const verifying = useMutation({
    mutationFn: (code: string) => (recovers ? signInWithRecoveryCode(code) : signInWithCode(code)),
    onSuccess: onDone,
    onError: (failed) => countdown.start(toApiFailure(failed).retryAfterSeconds ?? 0),
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const code = String(new FormData(event.currentTarget).get('code') ?? '').trim()
    const isComplete = recovers ? code !== '' : /^\d{3}\s?\d{3}$/.test(code)
    setError(isComplete ? undefined : recovers ? TEXT.recoveryNeeded : TEXT.codeNeeded)
    if (!isComplete) return event.currentTarget.querySelector<HTMLInputElement>('[name=code]')?.focus()
    if (!verifying.isPending && countdown.left === 0) verifying.mutate(code)
  }
  const change = () => {
    setRecovers(!recovers)
    setError(undefined)
    verifying.reset()
  }
  return (
    <form noValidate onSubmit={submit} className="grid gap-4">
      <p>{recovers ? TEXT.recoveryStep : TEXT.step}</p>
      <Field label={recovers ? TEXT.recoveryCode : TEXT.code} error={error} key={String(recovers)}>
        {(control) => (
          <input
            {...control}
            name="code"
            // biome-ignore lint/a11y/noAutofocus: the step before had the focus, and this field is all there is to fill in
            autoFocus
            autoComplete={recovers ? 'off' : 'one-time-code'}
            inputMode={recovers ? 'text' : 'numeric'}
            spellCheck={false}
          />
        )}
      </Field>
      <FormFailure failure={failureFrom(verifying)} />
      <Button type="submit" tone="primary" busy={verifying.isPending || countdown.left > 0}>
        {TEXT.verify}
      </Button>
      {children}
      <div className="flex flex-wrap justify-between gap-2">
        <Button tone="quiet" onClick={change}>
          {recovers ? TEXT.useApp : TEXT.useRecovery}
        </Button>
        <Button tone="quiet" onClick={onBack}>
          {TEXT.back}
        </Button>
      </div>
      {recovers && <p className="small text-muted">{TEXT.lostBoth}</p>}
    </form>
  )
}

type SecondFactorFormProps = { onDone: () => void; onBack: () => void; children?: ReactNode }
