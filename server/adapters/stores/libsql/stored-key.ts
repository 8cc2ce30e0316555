import { type ApiKey, KEY_DEFAULTS } from '../../../core/credentials/api-key'
import type { AccountId, KeyId, PoolId } from '../../../core/ids'

type Rest = Omit<ApiKey, 'id' | 'accountId' | 'poolId' | 'hash' | 'prefix' | 'last4' | 'name' | 'createdAt'>

/**
 * The compact in-memory form of a key: short texts are joined in one string, because each string has an overhead of 40 bytes, and
 * settings that most keys leave unset share one object.
 */
export interface StoredKey {
  /** Id, prefix, last four and name, separated by line feeds. Only the name, which is last, may contain line feeds. */
  readonly texts: string
  readonly accountId: AccountId
  readonly poolId: PoolId
  readonly createdAt: number
  readonly rest: Rest
}

const NOTHING_SET: Rest = Object.freeze({
  ...KEY_DEFAULTS,
  disabledAt: null,
  revokedAt: null,
  stopsAt: null,
  replaces: null,
  replacedBy: null,
  endpointsAt: null,
  allowlist: null,
})

export function storedKey(key: ApiKey): StoredKey {
  const { id, accountId, poolId, hash: _, prefix, last4, name, createdAt, ...rest } = key
  const unset = Object.values(rest).every((value) => value === null || (Array.isArray(value) && value.length === 0))
  const texts = [id, prefix, last4, name].join('\n')
  return { texts, accountId, poolId, createdAt, rest: unset ? NOTHING_SET : rest }
}

/** The record of a stored key. `hash` is the hash that it was found by. */
export function apiKeyOf(hash: string, { texts, accountId, poolId, createdAt, rest }: StoredKey): ApiKey {
  const prefixAt = texts.indexOf('\n') + 1
  const last4At = texts.indexOf('\n', prefixAt) + 1
  const nameAt = texts.indexOf('\n', last4At) + 1
  return {
    id: texts.slice(0, prefixAt - 1) as KeyId, // written by storedKey
    accountId,
    poolId,
    hash,
    prefix: texts.slice(prefixAt, last4At - 1),
    last4: texts.slice(last4At, nameAt - 1),
    name: texts.slice(nameAt),
    createdAt,
    ...rest,
  }
}
