import { useInfiniteQuery } from '@tanstack/react-query'
import { keysQuery } from '../../api/keys.ts'
import type { TryCharge } from '../../api/try-call.ts'
import { PLAYGROUND_TEXT as TEXT } from '../../messages/playground.ts'
import { Choice, Choices, Field, Select } from '../../ui/field.tsx'

/** Who pays: chosen, and for a pasted key typed. */
export interface Charging {
  readonly kind: TryCharge['kind']
  readonly keyId: string
  readonly secret: string
}

export const NOT_CHOSEN: Charging = { kind: 'own', keyId: '', secret: '' }

/** The owner's keys that can pay now, and the one that is chosen: the first until another is. */
export function usePayingKeys(charging: Charging) {
  const list = useInfiniteQuery(keysQuery({ status: 'active' }))
  const keys = list.data?.pages.flatMap((page) => page.keys) ?? []
  const chosen = keys.find(({ id }) => id === charging.keyId) ?? keys[0] ?? null
  return { keys, chosen, isKnown: list.data !== undefined }
}

/** Whom the request is charged to. Only what can be paid for by itself may be charged to nobody. */
export function ChargeTo({ charging, onChange, keysOnly = false }: ChargeToProps) {
  const { keys, chosen, isKnown } = usePayingKeys(charging)
  const choice = (kind: Charging['kind'], label: string) => (
    <Choice
      name="charge"
      label={label}
      checked={charging.kind === kind}
      onChange={() => onChange({ ...charging, kind })}
    />
  )
  return (
    <Choices legend={TEXT.charge}>
      {choice('own', TEXT.own)}
      {charging.kind === 'own' &&
        (isKnown && chosen === null ? (
          <p className="small text-warn">{TEXT.noKeys}</p>
        ) : (
          <Select
            label={TEXT.ownKey}
            options={keys.map(({ id, name, last4 }) => ({ value: id, text: `${name} …${last4}` }))}
            value={chosen?.id ?? ''}
            onChange={(event) => onChange({ ...charging, keyId: event.target.value })}
          />
        ))}
      {choice('pasted', TEXT.pasted)}
      {charging.kind === 'pasted' && (
        <Field label={TEXT.pastedKey} hint={TEXT.pastedHint}>
          {(control) => (
            <input
              {...control}
              type="password"
              autoComplete="off"
              value={charging.secret}
              onChange={(event) => onChange({ ...charging, secret: event.target.value.trim() })}
            />
          )}
        </Field>
      )}
      {!keysOnly && choice('nobody', TEXT.nobody)}
    </Choices>
  )
}

type ChargeToProps = { charging: Charging; onChange: (charging: Charging) => void; keysOnly?: boolean }

/** Who pays, as it is sent; null until it is known. */
export function chargeOf({ kind, secret }: Charging, keyId: string | null): TryCharge | null {
  if (kind === 'nobody') return { kind }
  if (kind === 'pasted') return secret === '' ? null : { kind, secret }
  return keyId === null ? null : { kind, keyId }
}
