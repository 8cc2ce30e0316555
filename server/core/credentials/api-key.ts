import type { SoldName } from '../catalog/operation'
import type { AccountId, AppGrantId, KeyId, PoolId } from '../ids'
import type { Money } from '../money'
import type { Allowlist } from './allowlist'

export const PERIODS = ['day', 'week', 'month'] as const

/**
 * An amount per day, week (from Monday) or month in a time zone (spec D3). It belongs to the spend pool, so that a key and
 * its successor share it.
 */
export interface Budget {
  readonly limitUsd: number
  readonly period: (typeof PERIODS)[number]
  readonly timezone: string
  /** So much more until a time, for calls that begin before it. */
  readonly raise?: { readonly usd: number; readonly until: number } | null
}

/** What each scope may spend per day, week or month in UTC. */
export type ScopeBudget = Pick<Budget, 'limitUsd' | 'period'>

/** The settings of a key (spec 2.1, spec D3). An empty list allows everything. */
export interface KeySettings {
  readonly name: string
  readonly allowedIps: readonly string[]
  readonly expiresAt: number | null
  readonly allowedEndpoints: readonly SoldName[]
  readonly allowedModels: readonly string[]
  readonly rpmLimit: number | null
  readonly tpmLimit: number | null
  readonly note: string | null
  /** Words of the owner's own, to find and add up keys by. */
  readonly tags: readonly string[]
  /** Imported operations that are an MCP tool each, also where there are too many for one tool each. */
  readonly pinnedOperations: readonly SoldName[]
}

/** The settings of a key whose owner set nothing but its name. */
export const KEY_DEFAULTS: Omit<KeySettings, 'name'> = {
  allowedIps: [],
  expiresAt: null,
  allowedEndpoints: [],
  allowedModels: [],
  rpmLimit: null,
  tpmLimit: null,
  note: null,
  tags: [],
  pinnedOperations: [],
}

/** How many characters the texts of a key have at most, and how many entries its lists. */
export const KEY_SIZES = {
  name: 64,
  note: 500,
  tag: 32,
  tags: 10,
  allowedIps: 50,
  endpoints: 100,
  models: 100,
  pinnedOperations: 40,
} as const

/** An API key. Immutable: a change creates a new record. Contains the hash of the secret, never the secret. */
export interface ApiKey extends KeySettings {
  readonly id: KeyId
  readonly accountId: AccountId
  readonly poolId: PoolId
  readonly hash: string
  readonly prefix: string
  readonly last4: string
  readonly createdAt: number
  /** The app that created or rotated it; null if the owner did. */
  readonly createdBy: AppGrantId | null
  readonly disabledAt: number | null
  readonly revokedAt: number | null
  /** When a replaced key stops working. */
  readonly stopsAt: number | null
  readonly replaces: KeyId | null
  readonly replacedBy: KeyId | null
  /** When `allowedEndpoints` was set; null means with the key. */
  readonly endpointsAt: number | null
  /** `allowedIps`, parsed; null when any address may call. */
  readonly allowlist: Allowlist | null
}

/** Counts a key's spending. A successor shares the pool of the key that it replaces, so that rotating never enlarges a limit. */
export interface SpendPool {
  readonly id: PoolId
  readonly accountId: AccountId
  /** Null means unlimited. */
  readonly limit: Money | null
  readonly spent: Money
}

export const KEY_STATUSES = ['active', 'disabled', 'expired', 'exhausted', 'revoked'] as const
export type KeyStatus = (typeof KEY_STATUSES)[number]

/** The status of a key, computed and never stored: revoked > disabled > expired > exhausted > active (spec 3). */
export function keyStatus(key: ApiKey, pool: SpendPool, now: number): KeyStatus {
  const state = keyState(key, now)
  if (state !== 'usable') return state
  return pool.limit !== null && pool.spent >= pool.limit ? 'exhausted' : 'active'
}

/** Whether the key may call at all. An exhausted key may: its limit only applies to priced routes, when they take a hold. */
export function keyState(key: ApiKey, now: number): 'usable' | 'disabled' | 'expired' | 'revoked' {
  if (key.revokedAt !== null || (key.stopsAt !== null && key.stopsAt <= now)) return 'revoked'
  if (key.disabledAt !== null) return 'disabled'
  if (key.expiresAt !== null && key.expiresAt <= now) return 'expired'
  return 'usable'
}
