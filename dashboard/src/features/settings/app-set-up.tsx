import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { encode } from 'uqr'
import { beginAppSetUp, type AppSetUp as SetUp, verifyAppCode } from '../../api/account/second-factor.ts'
import { failureFrom, toApiFailure } from '../../api/client/failure.ts'
import { SECOND_FACTOR_TEXT as TEXT } from '../../messages/second-factor.ts'
import { Button } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/code/code-block.tsx'
import { Dialog, DialogButtons } from '../../ui/dialogs/dialog.tsx'
import { FormFailure } from '../../ui/feedback/failure.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { Field } from '../../ui/field.tsx'
import { PasswordDialog } from './password-dialog.tsx'
import { RecoveryCodes } from './recovery-codes.tsx'

/** Sets up an authenticator app: the password, the first code, and the recovery codes to save. */
export function AppSetUp({ onClose }: { onClose: () => void }) {
  const [setUp, setSetUp] = useState<SetUp | null>(null)
  const [isOn, setIsOn] = useState(false)
  if (!setUp)
    return (
      <PasswordDialog
        title={TEXT.setUpTitle}
        submit={async (password) => setSetUp(await beginAppSetUp(password))}
        onClose={onClose}
      />
    )
  if (!isOn) return <FirstCode link={setUp.link} onClose={onClose} onDone={() => setIsOn(true)} />
  const finish = () => {
    void toast(TEXT.appReady)
    onClose()
  }
  return <RecoveryCodes codes={setUp.recoveryCodes} onSaved={finish} />
}

function FirstCode({ link, onClose, onDone }: { link: string; onClose: () => void; onDone: () => void }) {
  const [error, setError] = useState<string>()
  const verifying = useMutation({
    mutationFn: verifyAppCode,
    onSuccess: onDone,
    onError: (failed) => {
      const { code, message } = toApiFailure(failed)
      if (code === 'invalid_code') setError(message)
    },
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const code = String(new FormData(event.currentTarget).get('code') ?? '').trim()
    const isComplete = /^\d{3}\s?\d{3}$/.test(code)
    setError(isComplete ? undefined : TEXT.codeNeeded)
    if (!isComplete) return event.currentTarget.querySelector<HTMLInputElement>('[name=code]')?.focus()
    if (!verifying.isPending) verifying.mutate(code)
  }
  const failure = failureFrom(verifying)
  return (
    <Dialog title={TEXT.setUpTitle} firm onClose={onClose}>
      <form noValidate onSubmit={submit} className="grid gap-4">
        <p className="text-muted">{TEXT.scan}</p>
        <QrCode text={link} />
        {/* On a phone, the app is on the device that shows this. */}
        <a href={link} className="justify-self-start text-accent underline sm:hidden">
          {TEXT.openApp}
        </a>
        <CodeBlock label={TEXT.key} code={new URL(link).searchParams.get('secret') ?? ''} copyLabel={TEXT.copyKey} />
        <Field label={TEXT.code} error={error}>
          {(control) => (
            <input {...control} name="code" autoComplete="one-time-code" inputMode="numeric" spellCheck={false} />
          )}
        </Field>
        <FormFailure failure={failure?.code === 'invalid_code' ? null : failure} />
        <DialogButtons>
          <Button onClick={onClose}>{TEXT.cancel}</Button>
          <Button type="submit" tone="primary" busy={verifying.isPending}>
            {TEXT.confirm}
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  )
}

/** Black on white in both themes: cameras expect it. */
function QrCode({ text }: { text: string }) {
  const { data, size } = encode(text, { border: 2 })
  const path = data.flatMap((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : ''))).join('')
  return (
    <svg
      role="img"
      aria-label={TEXT.qr}
      viewBox={`0 0 ${size} ${size}`}
      className="w-48 justify-self-center rounded-md bg-white sm:justify-self-start"
      shapeRendering="crispEdges"
    >
      <path d={path} fill="#000" />
    </svg>
  )
}
