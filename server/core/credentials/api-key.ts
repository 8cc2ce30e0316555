import type { SoldName } from '../catalogue/operation'
import type { AccountId, KeyId, PoolId } from '../ids'
import type { Money } from '../money'
import type { Allowlist } from './allowlist'

/**
 * An amount per period of a named time zone: the day, the week from its Monday, the month (spec-answers 3). It belongs to the
 * spend pool, so that a key and its successor share it.
 */
export interface Budget {
  readonly limitUsd: number
  readonly period: 'day' | 'week' | 'month'
  readonly timezone: string
}

/** What an owner may set on a key (spec 2.1, spec-answers 3). An empty list means: all. */
export interface KeySettings {
  readonly name: string
  readonly allowedIps: readonly string[]
  readonly expiresAt: number | null
  readonly allowedEndpoints: readonly SoldName[]
  readonly allowedModels: readonly string[]
  readonly rpmLimit: number | null
  readonly tpmLimit: number | null
}

/** An API key. Immutable: a change makes a new record. Its secret is not in it; its hash only names it in the store. */
export interface ApiKey extends KeySettings {
  readonly id: KeyId
  readonly accountId: AccountId
  readonly poolId: PoolId
  readonly hash: string
  readonly prefix: string
  readonly last4: string
  readonly createdAt: number
  readonly disabledAt: number | null
  readonly revokedAt: number | null
  /** When a replaced key stops by itself. */
  readonly stopsAt: number | null
  readonly replaces: KeyId | null
  readonly replacedBy: KeyId | null
  /** `allowedIps`, parsed; null when any address may call. */
  readonly allowlist: Allowlist | null
}

/** Where a key's money is counted. A successor shares its predecessor's pool, so that rotating never enlarges a limit. */
export interface SpendPool {
  readonly id: PoolId
  readonly accountId: AccountId
  /** Null is Unlimited. */
  readonly limit: Money | null
  readonly spent: Money
}

export type KeyStatus = 'active' | 'disabled' | 'expired' | 'exhausted' | 'revoked'

/** The status, computed from the facts and never stored: revoked > disabled > expired > exhausted > active (spec 3). */
export function keyStatus(key: ApiKey, pool: SpendPool, now: number): KeyStatus {
  const state = keyState(key, now)
  if (state !== 'usable') return state
  return pool.limit !== null && pool.spent >= pool.limit ? 'exhausted' : 'active'
}

/** Whether the key may call at all. Exhaustion is not judged here: it binds priced routes only, at the funds step. */
export function keyState(key: ApiKey, now: number): 'usable' | 'disabled' | 'expired' | 'revoked' {
  if (key.revokedAt !== null || (key.stopsAt !== null && key.stopsAt <= now)) return 'revoked'
  if (key.disabledAt !== null) return 'disabled'
  if (key.expiresAt !== null && key.expiresAt <= now) return 'expired'
  return 'usable'
}
