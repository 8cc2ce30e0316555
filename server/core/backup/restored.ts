import type { AccountId, KeyId } from '../ids'

/** Where the data came from, if it was restored from a copy. */
export interface RestoreNote {
  /** The name of the copy; null if the operator only said when it was taken. */
  readonly copy: string | null
  readonly takenAt: number
  /** The time of a copy of unknown time, so that each copy is checked once. */
  readonly restoredAt: number
  /** Whether a standby took it over, whose copy was seconds old and whose charges, keys and money the log completed. */
  readonly isTakenOver: boolean
}

/** A key of the copy that works again, whatever happened to it after the copy was taken. */
export interface RestoredKey {
  readonly id: KeyId
  readonly account: AccountId
  readonly name: string
  readonly prefix: string
  readonly last4: string
  readonly lastUsedAt: number | null
}

/** The changes after the copy was taken, read from the database that was lost or given up. */
export interface LostChanges {
  /** Keys that the copy has and that were revoked or disabled since, such as by a rotation. */
  readonly keys: readonly (Pick<RestoredKey, 'id' | 'account'> & { readonly action: 'revoke' | 'disable' })[]
  readonly suspensions: readonly { readonly account: AccountId; readonly reason: string }[]
  /** Made since, and not in the copy. Their callers are refused as unknown. */
  readonly newKeys: number
  readonly newAccounts: number
}

/** A look at the data after a restore. */
export interface RestoreCheck {
  readonly restoredAt: number
  readonly checkedAt: number
  readonly actor: string
}

export interface RestoreCheckStore {
  /** Keys that work, oldest first, after a key. */
  liveKeys(limit: number, after: KeyId | null): Promise<readonly RestoredKey[]>
  /** Null until a check of this restore is completed. */
  checkOf(restoredAt: number): Promise<RestoreCheck | null>
  checked(check: RestoreCheck): Promise<void>
}

/** Reads another database file. Throws a `LostDatabaseProblem` if it cannot. */
export type ReadLostChanges = (file: string, since: number) => Promise<LostChanges>

/** Why a lost database cannot be read. */
export class LostDatabaseProblem extends Error {}
