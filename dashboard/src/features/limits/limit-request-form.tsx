import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useRef, useState } from 'react'
import { accountQuery } from '../../api/account/account.ts'
import { limitsQuery, submitLimitRequest } from '../../api/billing/limits.ts'
import { failureFrom } from '../../api/client/failure.ts'
import { LIMIT_TEXT as TEXT } from '../../messages/limits.ts'
import { operationLabel } from '../../messages/requests.ts'
import { Button } from '../../ui/button.tsx'
import { WorkspaceId } from '../../ui/code/workspace-id.tsx'
import { FormFailure } from '../../ui/feedback/failure.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { Choice, Choices, Field } from '../../ui/field.tsx'
import { grouped } from '../../ui/format/money.ts'

type Place = 'rpm' | 'tpm' | 'endpoints' | 'useCase'
type Errors = Partial<Record<Place, string>>

const ENDPOINTS = [
  { value: 'image-search', text: operationLabel('image-search') },
  { value: 'llm-context', text: operationLabel('llm-context') },
  { value: 'models', text: TEXT.models },
  { value: 'social', text: TEXT.social },
]

/** The form to request higher limits. Input is kept if the server refuses it. */
export function LimitRequestForm() {
  const queries = useQueryClient()
  const [errors, setErrors] = useState<Errors>({})
  const form = useRef<HTMLFormElement>(null)
  const workspace = useQuery(accountQuery).data?.id ?? ''
  const now = useQuery(limitsQuery).data?.limits
  const sending = useMutation({
    mutationFn: submitLimitRequest,
    onSuccess: async () => {
      void toast(TEXT.sent)
      await queries.invalidateQueries({ queryKey: ['limits'] })
    },
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const typed = typedIn(event.currentTarget)
    const wrong = validate(typed, now ? { rpm: now.requests_per_minute, tpm: now.tokens_per_minute } : null)
    setErrors(wrong)
    const [first] = Object.keys(wrong)
    if (first) return event.currentTarget.querySelector<HTMLElement>(`[name=${first}]`)?.focus()
    const { rpm: peak_rpm, tpm: peak_tpm, endpoints, useCase: use_case } = typed
    if (!sending.isPending) sending.mutate({ peak_rpm, peak_tpm, endpoints, use_case })
  }
  return (
    <form ref={form} noValidate onSubmit={submit} className="grid max-w-2xl gap-4">
      <p className="text-muted">{TEXT.requestText}</p>
      <WorkspaceId id={workspace} />
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label={TEXT.peakRpm} hint={now && TEXT.aboveNow(grouped(now.requests_per_minute))} error={errors.rpm}>
          {(control) => <input {...control} name="rpm" inputMode="numeric" required />}
        </Field>
        <Field label={TEXT.peakTpm} hint={now && TEXT.aboveNow(grouped(now.tokens_per_minute))} error={errors.tpm}>
          {(control) => <input {...control} name="tpm" inputMode="numeric" required />}
        </Field>
      </div>
      <Choices legend={TEXT.endpoints} error={errors.endpoints}>
        {ENDPOINTS.map(({ value, text }) => (
          <Choice key={value} type="checkbox" name="endpoints" value={value} label={text} />
        ))}
      </Choices>
      <Field label={TEXT.useCase} hint={TEXT.useCaseHint} error={errors.useCase}>
        {({ className, ...control }) => (
          <textarea
            {...control}
            className={`${className} h-auto py-2`}
            name="useCase"
            rows={4}
            maxLength={2000}
            required
          />
        )}
      </Field>
      <FormFailure failure={failureFrom(sending)} />
      <Button type="submit" tone="primary" busy={sending.isPending} className="justify-self-start">
        {TEXT.submit}
      </Button>
    </form>
  )
}

interface Typed {
  readonly rpm: number
  readonly tpm: number
  readonly endpoints: readonly string[]
  readonly useCase: string
}

function typedIn(form: HTMLFormElement): Typed {
  const data = new FormData(form)
  const count = (name: string) => {
    const text = String(data.get(name) ?? '').replace(/[\s,]/g, '')
    return /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  }
  const useCase = String(data.get('useCase') ?? '').trim()
  return { rpm: count('rpm'), tpm: count('tpm'), endpoints: data.getAll('endpoints').map(String), useCase }
}

function validate({ rpm, tpm, endpoints, useCase }: Typed, now: { rpm: number; tpm: number } | null): Errors {
  const wrong = (count: number) => !(count >= 1)
  const enough = now !== null && rpm <= now.rpm && tpm <= now.tpm
  return {
    ...(enough && { rpm: TEXT.oneAbove(grouped(now.rpm), grouped(now.tpm)) }),
    ...(wrong(rpm) && { rpm: TEXT.wholeNumber }),
    ...(wrong(tpm) && { tpm: TEXT.wholeNumber }),
    ...(endpoints.length === 0 && { endpoints: TEXT.oneEndpoint }),
    ...([...useCase].length < 20 && { useCase: TEXT.useCaseShort }),
  }
}
