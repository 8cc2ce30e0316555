import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { accountQuery } from '../../api/account/account.ts'
import { keyNamesQuery, keysQuery } from '../../api/keys.ts'
import { excludesAddress } from '../../api/own-address.ts'
import type { Payer } from '../../api/playground/try-call.ts'
import { PLAYGROUND_TEXT as TEXT } from '../../messages/playground.ts'
import { Choice, Choices, Field, Select } from '../../ui/field.tsx'

/** The selected payer, and the pasted key if any. */
export interface PayerChoice {
  readonly kind: Payer['kind']
  readonly keyId: string
  readonly secret: string
}

export const DEFAULT_PAYER: PayerChoice = { kind: 'account_key', keyId: '', secret: '' }

/** The owner's keys, and the selected one: by default the newest active one that calls from this computer may use. */
export function usePayerKeys(payerChoice: PayerChoice) {
  const { data, isPending } = useInfiniteQuery(keysQuery({ status: 'active' }))
  const active = data?.pages[0]?.keys
  const ip = useQuery(accountQuery).data?.ip ?? null
  const names = useQuery(keyNamesQuery).data?.names ?? []
  const own = names.filter(({ kind, revoked }) => kind === 'key' && !revoked)
  const preferred = active?.find(({ allowed_ips: ips }) => !excludesAddress(ips, ip)) ?? active?.[0]
  const known = new Map([...own, ...(active ?? [])].map(({ id, name, last4 }) => [String(id), `${name} …${last4}`]))
  const chosen = known.has(payerChoice.keyId) ? payerChoice.keyId : (preferred?.id ?? null)
  const keys = [...known].map(([value, text]) => ({ value, text }))
  // Of a key that is not among the newest, the server knows.
  const allowedModels = active?.find(({ id }) => id === chosen)?.allowed_models ?? []
  /** Whether it is known which key pays, if one of the owner's does. */
  const ready = payerChoice.kind !== 'account_key' || !isPending
  return { keys, chosen, allowedModels, ready, isKnown: active !== undefined }
}

/** Sends now, or as soon as it is known who pays: nothing that was typed quickly is lost. */
export function useSendWhenReady(ready: boolean, send: () => void): () => void {
  const [asked, setAsked] = useState(false)
  useEffect(() => {
    if (!asked || !ready) return
    setAsked(false)
    send()
  }, [asked, ready, send])
  return () => (ready ? send() : setAsked(true))
}

/** The choice of the payer. "No key" is offered only for endpoints that accept payments. */
export function PayerField({ payerChoice, shown, onChange, keysOnly = false }: PayerFieldProps) {
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
            options={keys}
            value={chosen ?? ''}
            onChange={(event) => onChange({ ...payerChoice, keyId: event.target.value })}
          />
        ))}
      {choice('pasted_key', TEXT.pasted)}
      {payerChoice.kind === 'pasted_key' && (
        <Field
          label={TEXT.pastedKey}
          hint={TEXT.pastedHint}
          error={shown && payerChoice.secret === '' ? TEXT.pastedNeeded : undefined}
        >
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

type PayerFieldProps = {
  payerChoice: PayerChoice
  /** Whether to show the error of a missing key. */
  shown: boolean
  onChange: (payerChoice: PayerChoice) => void
  keysOnly?: boolean
}

/** The payer to send; null if it is not complete. */
export function toPayer({ kind, secret }: PayerChoice, keyId: string | null): Payer | null {
  if (kind === 'nobody') return { kind }
  if (kind === 'pasted_key') return secret === '' ? null : { kind, secret }
  return keyId === null ? null : { kind, keyId }
}
