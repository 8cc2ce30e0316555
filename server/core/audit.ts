import { type AccountId, type AuditId, type KeyId, makeId } from './ids'
import type { Page } from './page'

/** Who did it, from where: an owner, an app by its connection, an operator. An operator's command comes over the control socket and has no address. */
export interface Actor {
  readonly kind: 'owner' | 'app' | 'operator' | 'system'
  readonly id: string
  readonly address: string | null
}

/** One change to a key or account: who, when, from which address, what. Written in the same batch as the change. */
export interface AuditEntry {
  readonly id: AuditId
  readonly at: number
  readonly actor: Actor
  readonly accountId: AccountId | null
  readonly keyId: KeyId | null
  readonly action: string
  /** What changed, without secrets. */
  readonly detail: Readonly<Record<string, unknown>>
}

/** An entry with an id of its own. Without an account or a key it concerns the whole gateway. */
export function auditEntry({
  accountId = null,
  keyId = null,
  detail = {},
  ...change
}: Pick<AuditEntry, 'at' | 'actor' | 'action'> &
  Partial<Pick<AuditEntry, 'accountId' | 'keyId' | 'detail'>>): AuditEntry {
  return { id: makeId('audit', change.at), ...change, accountId, keyId, detail }
}

/** The audit, to be read. */
export interface AuditTrail {
  /** What was done to one key of an account, newest first. Null when the cursor is none that we gave. */
  ofKey(account: AccountId, key: KeyId, limit: number, cursor: string | null): Promise<Page<AuditEntry> | null>
  /** What was done to an account and its keys, in the same order. */
  ofAccount(account: AccountId, limit: number, cursor: string | null): Promise<Page<AuditEntry> | null>
  /** Writes down what the sign-in library did, after it: its own writes share no batch with ours. */
  write(entry: AuditEntry): Promise<void>
}
