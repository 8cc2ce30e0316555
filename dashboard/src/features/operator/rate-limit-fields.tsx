import type { RateLimits } from '../../api/operator.ts'
import { OPERATOR_TEXT as TEXT } from '../../messages/operator.ts'
import { Field } from '../../ui/field.tsx'
import { type FormResult, fieldText } from './action-form.tsx'

const NAMES = ['rpm', 'tpm', 'concurrency'] as const

/** Requests per minute, tokens per minute and concurrency. */
export function RateLimitFields({ values, errors }: { values: RateLimits; errors: Readonly<Record<string, string>> }) {
  return (
    <div className="grid gap-4 sm:grid-cols-3">
      {NAMES.map((name) => (
        <Field key={name} label={TEXT[name]} error={errors[name]}>
          {(control) => <input {...control} name={name} inputMode="numeric" defaultValue={values[name]} required />}
        </Field>
      ))}
    </div>
  )
}

export function readRateLimits(form: FormData): FormResult<RateLimits> {
  const counts = NAMES.map((name) => Number(fieldText(form, name).replace(/[\s,]/g, '') || Number.NaN))
  const wrong = NAMES.filter((_, at) => !(Number.isSafeInteger(counts[at]) && Number(counts[at]) > 0))
  if (wrong.length > 0) return { wrong: Object.fromEntries(wrong.map((name) => [name, TEXT.countWrong])) }
  const [rpm = 0, tpm = 0, concurrency = 0] = counts
  return { values: { rpm, tpm, concurrency } }
}
