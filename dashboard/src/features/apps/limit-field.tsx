import { Field } from '../../ui/field.tsx'
import { typedUsd } from '../../ui/money.ts'
import { APP_WORDS as WORDS } from '../../words/apps.ts'

const MICROS = 1_000_000

/** The most an app may spend; empty is no limit of its own. */
export function LimitField({
  value,
  wrong,
  onChange,
}: {
  value: string
  wrong: boolean
  onChange: (typed: string) => void
}) {
  return (
    <Field label={WORDS.limit} hint={WORDS.limitHint} error={wrong ? WORDS.limitWrong : undefined}>
      {(control) => (
        <input
          {...control}
          inputMode="decimal"
          autoComplete="off"
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  )
}

/** The typed amount in USD, null for none, or `wrong`. */
export function limitTyped(typed: string): number | null | 'wrong' {
  if (typed.trim() === '') return null
  const amount = typedUsd(typed)
  return amount === null || amount <= 0 ? 'wrong' : amount / MICROS
}
