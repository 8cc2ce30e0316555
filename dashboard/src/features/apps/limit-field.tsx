import { APP_TEXT as TEXT } from '../../messages/apps.ts'
import { Field } from '../../ui/field.tsx'
import { typedUsd } from '../../ui/format/money.ts'

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
    <Field label={TEXT.limit} hint={TEXT.limitHint} error={wrong ? TEXT.limitWrong : undefined}>
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
export function parseLimit(typed: string): number | null | 'wrong' {
  if (typed.trim() === '') return null
  const amount = typedUsd(typed)
  return amount === null || amount <= 0 ? 'wrong' : amount / MICROS
}
