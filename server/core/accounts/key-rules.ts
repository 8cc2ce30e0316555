import { type ApiKey, type KeySettings, keyState } from '../credentials/api-key'
import type { LiveKeys } from '../credentials/store'
import { type Failure, failure, wrongParameters } from '../failure'
import { MAX_KEYS, type TierFacts } from '../limits/tier'
import type { KeyForm } from './key-form'
import { invalidParameter } from './submitted'

export function stateRefusal(key: ApiKey, now: number): Failure | null {
  if (keyState(key, now) !== 'revoked') return null
  return failure('invalid_state', 'A revoked key cannot be enabled or disabled.')
}

/** The state of a key before a change, for the audit log. */
export function stateBefore(key: ApiKey, now: number): Record<string, unknown> {
  const state = keyState(key, now)
  return { state: state === 'usable' ? 'active' : state }
}

/** The settings whose names must be those of something on sale. */
export type ListedNames = Pick<ApiKey, 'allowedEndpoints' | 'allowedModels' | 'pinnedOperations'>

/** A list that stays as it is keeps its time: what it named then is what it names. */
export function endpointsAt(key: ApiKey, next: readonly string[], now: number): number | null {
  if (next.length === 0) return null
  const before = key.allowedEndpoints
  const isSame = next.length === before.length && next.every((name) => before.some((one) => one === name))
  return isSame ? key.endpointsAt : now
}

export function settingsIn(form: KeyForm): Partial<KeySettings> {
  const { spendingLimit: _limit, budgets: _budgets, scopeBudget: _ofScope, stopsAt: _stops, ...settings } = form
  return settings
}

/** Names are unique among live keys, except between a key and its successors, which share a pool. */
export function nameTaken({ poolsOfName }: LiveKeys, name: string, self: ApiKey | null): Failure | null {
  if (poolsOfName.every((pool) => pool === self?.poolId)) return null
  return wrongParameters([invalidParameter('name', 'is already used by another of your keys', name)])
}

/**
 * The failure when the account has reached its limit of keys, otherwise null. Replaced keys in their grace period count
 * separately, so that an account at its limit can still rotate every key. Disabled and expired keys count: they can come back.
 */
export function limitReached(live: LiveKeys, tier: TierFacts, kind: 'own' | 'replaced'): Failure | null {
  const maxKeys = tier.maxKeys ?? MAX_KEYS
  if (live[kind] < maxKeys) return null
  const which = kind === 'own' ? 'live keys' : 'replaced keys in their grace period'
  return failure('limit_reached', `This account has ${live[kind]} of at most ${maxKeys} ${which}. Revoke one first.`)
}
