import { APP_TEXT as TEXT } from '../../messages/apps.ts'
import { Field } from '../../ui/field.tsx'
import { MICROS_PER_USD, parseMicros } from '../../ui/format/money.ts'

/** The spending limit of an app; empty means no limit. */
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

/** The entered amount in USD, null for no limit, or `wrong`. */
export function parseLimit(typed: string): number | null | 'wrong' {
  if (typed.trim() === '') return null
  const amount = parseMicros(typed)
  return amount === null || amount <= 0 ? 'wrong' : amount / MICROS_PER_USD
}
