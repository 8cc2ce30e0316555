import { useMutation, useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { appQuery, type DeviceRequest, fetchDeviceRequest, submitDeviceDecision } from '../../api/account/apps.ts'
import { failureFrom } from '../../api/client/failure.ts'
import { APP_TEXT as TEXT } from '../../messages/apps.ts'
import { Button } from '../../ui/button.tsx'
import { FormFailure } from '../../ui/feedback/failure.tsx'
import { Loading } from '../../ui/feedback/states.tsx'
import { Field } from '../../ui/field.tsx'
import { AccessDecision } from './access-decision.tsx'

type Step =
  | { kind: 'code' }
  | { kind: 'decision'; code: string; request: DeviceRequest }
  | { kind: 'done'; allowed: boolean }

/** Asks for the code of a device, shows what it requests, and takes the decision. */
export function DeviceForm({ code: given }: { code: string }) {
  const [step, setStep] = useState<Step>({ kind: 'code' })
  const looking = useMutation({
    mutationFn: async (code: string) => ({ code, request: await fetchDeviceRequest(code) }),
    onSuccess: ({ code, request }) =>
      request.clientId && request.isOpen && setStep({ kind: 'decision', code, request }),
  })
  if (step.kind === 'done') return <p role="status">{step.allowed ? TEXT.allowed : TEXT.denied}</p>
  if (step.kind === 'decision')
    return <DeviceAnswer {...step} onDone={(allowed) => setStep({ kind: 'done', allowed })} />
  const onSubmit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    looking.mutate(String(new FormData(event.currentTarget).get('code')).replace(/[\s-]/g, '').toUpperCase())
  }
  const failure = failureFrom(looking)
  // For a code that was already decided, the server returns a success without a request.
  const wrong = looking.data ? TEXT.wrongCode : failure?.status === 400 ? failure.message : undefined
  return (
    <form onSubmit={onSubmit} className="grid gap-4">
      <p className="text-muted">{TEXT.deviceLead}</p>
      <p className="rounded-md bg-warn-soft px-3 py-2 text-warn">{TEXT.phishing}</p>
      <Field label={TEXT.code} hint={TEXT.codeHint} error={wrong}>
        {(control) => (
          <input {...control} name="code" required autoComplete="off" defaultValue={given} spellCheck={false} />
        )}
      </Field>
      <FormFailure failure={wrong === undefined ? failure : null} />
      <Button type="submit" tone="primary" busy={looking.isPending}>
        {TEXT.next}
      </Button>
    </form>
  )
}

function DeviceAnswer({ code, request, onDone }: DeviceAnswerProps) {
  const clientId = request.clientId ?? ''
  const app = useQuery(appQuery(clientId))
  if (app.isPending) return <Loading rows={4} />
  if (!app.data) return <FormFailure failure={failureFrom(app)} />
  const known = app.data.app
  const answer = async (accept: boolean) => {
    await submitDeviceDecision(code, accept)
    return accept
  }
  return (
    <div className="grid gap-5">
      <p>
        {TEXT.deviceAsks} <strong className="wrap-anywhere">{known.name}</strong> (<span className="code">{code}</span>)
      </p>
      {!known.first_party && <p className="rounded-md bg-warn-soft px-3 py-2 text-warn">{TEXT.unverified}</p>}
      <p className="rounded-md bg-warn-soft px-3 py-2 text-warn">{TEXT.phishing}</p>
      <AccessDecision app={known} scopes={request.scopes} answer={answer} onDone={onDone} />
    </div>
  )
}

type DeviceAnswerProps = { code: string; request: DeviceRequest; onDone: (allowed: boolean) => void }
