import { useInfiniteQuery } from '@tanstack/react-query'
import { keysQuery } from '../../api/keys.ts'
import type { Payer } from '../../api/playground/try-call.ts'
import { PLAYGROUND_TEXT as TEXT } from '../../messages/playground.ts'
import { Choice, Choices, Field, Select } from '../../ui/field.tsx'

/** Who pays: chosen, and for a pasted key typed. */
export interface PayerChoice {
  readonly kind: Payer['kind']
  readonly keyId: string
  readonly secret: string
}

export const DEFAULT_PAYER: PayerChoice = { kind: 'account_key', keyId: '', secret: '' }

/** The owner's keys that can pay now, and the one that is chosen: the first until another is. */
export function usePayerKeys(payerChoice: PayerChoice) {
  const list = useInfiniteQuery(keysQuery({ status: 'active' }))
  const keys = list.data?.pages.flatMap((page) => page.keys) ?? []
  const chosen = keys.find(({ id }) => id === payerChoice.keyId) ?? keys[0] ?? null
  return { keys, chosen, isKnown: list.data !== undefined }
}

/** Whom the request is charged to. Only what can be paid for by itself may be charged to nobody. */
export function PayerField({ payerChoice, onChange, keysOnly = false }: PayerFieldProps) {
  const { keys, chosen, isKnown } = usePayerKeys(payerChoice)
  const choice = (kind: PayerChoice['kind'], label: string) => (
    <Choice
      name="charge"
      label={label}
      checked={payerChoice.kind === kind}
      onChange={() => onChange({ ...payerChoice, kind })}
    />
  )
  return (
    <Choices legend={TEXT.charge}>
      {choice('account_key', TEXT.accountKey)}
      {payerChoice.kind === 'account_key' &&
        (isKnown && chosen === null ? (
          <p className="small text-warn">{TEXT.noKeys}</p>
        ) : (
          <Select
            label={TEXT.accountKeyLabel}
            options={keys.map(({ id, name, last4 }) => ({ value: id, text: `${name} …${last4}` }))}
            value={chosen?.id ?? ''}
            onChange={(event) => onChange({ ...payerChoice, keyId: event.target.value })}
          />
        ))}
      {choice('pasted_key', TEXT.pasted)}
      {payerChoice.kind === 'pasted_key' && (
        <Field label={TEXT.pastedKey} hint={TEXT.pastedHint}>
          {(control) => (
            <input
              {...control}
              type="password"
              autoComplete="off"
              value={payerChoice.secret}
              onChange={(event) => onChange({ ...payerChoice, secret: event.target.value.trim() })}
            />
          )}
        </Field>
      )}
      {!keysOnly && choice('nobody', TEXT.nobody)}
    </Choices>
  )
}

type PayerFieldProps = { payerChoice: PayerChoice; onChange: (payerChoice: PayerChoice) => void; keysOnly?: boolean }

/** Who pays, as it is sent; null until it is known. */
export function toPayer({ kind, secret }: PayerChoice, keyId: string | null): Payer | null {
  if (kind === 'nobody') return { kind }
  if (kind === 'pasted_key') return secret === '' ? null : { kind, secret }
  return keyId === null ? null : { kind, keyId }
}
