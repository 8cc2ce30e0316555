import { MINUTE_MS } from './clock'
import { type AccountId, type AuditId, type KeyId, makeId } from './ids'
import type { Page } from './page'

/** The author of a change and the address. Operator commands arrive over the control socket, so they have no address. */
export interface Actor {
  readonly kind: 'owner' | 'app' | 'operator' | 'system'
  readonly id: string
  readonly address: string | null
}

/** An operator on the command line: access to the data folder makes them one. */
export const CONSOLE: Actor = { kind: 'operator', id: 'console', address: null }

/** The audit log's name of each change. The dashboard has words for each, or does not compile. */
export type AuditAction =
  | 'account.open'
  | 'account.close'
  | 'account.settings'
  | 'account.email'
  | 'account.email_confirmed'
  | 'account.password'
  | 'account.password_reset'
  | 'account.reset_link'
  | 'account.second_factor_on'
  | 'account.second_factor_off'
  | 'account.recovery_codes'
  | 'account.identity_linked'
  | 'account.identity_unlinked'
  | 'account.passkey_added'
  | 'account.passkey_removed'
  | 'account.second_factor_reset'
  | 'account.sign_in_failures'
  | 'account.second_factor_locked'
  | 'account.recovery_code_used'
  | 'account.new_browser'
  | 'account.sessions_end'
  | 'account.suspend'
  | 'account.lift'
  | 'account.role'
  | 'account.operator'
  | 'account.limits'
  | 'account.keys'
  | 'account.grant'
  | 'account.debit'
  | 'account.charge_refund'
  | 'account.card_refund'
  | 'account.note'
  | 'account.budgets'
  | 'member.budgets'
  | 'account.export'
  | 'session.end'
  | 'member.invite'
  | 'member.invite_cancel'
  | 'member.join'
  | 'member.role'
  | 'member.remove'
  | 'member.leave'
  | 'workspace.rename'
  | 'workspace.default_budgets'
  | 'workspace.hand_over'
  | 'key.create'
  | 'key.change'
  | 'key.disable'
  | 'key.enable'
  | 'key.rotate'
  | 'key.revoke'
  | 'key.erase'
  | 'key.give'
  | 'connection.open'
  | 'connection.limit'
  | 'connection.end'
  | 'webhook.create'
  | 'webhook.confirm'
  | 'webhook.change'
  | 'webhook.rotate'
  | 'webhook.delete'
  | 'limits.request'
  | 'limits.approved'
  | 'limits.declined'
  | 'social.link.start'
  | 'social.linked'
  | 'social.unlink'
  | 'social.revoked'
  | 'price.set'
  | 'model.put'
  | 'model.remove'
  | 'model.vendor_add'
  | 'model.vendor_key'
  | 'model.vendor_remove'
  | 'worker.add'
  | 'worker.remove'
  | 'api.create'
  | 'api.import'
  | 'api.apply'
  | 'api.change'
  | 'api.remove'
  | 'api.lift'
  | 'api.try'
  | 'books.export'
  | 'books.reconcile'
  | 'books.after_restore'
  | 'stuck.retry'
  | 'stuck.discard'
  | 'backup.start'
  | 'backup.archive'
  | 'data.move'
  | 'data.reopen'
  | 'notices.mail'
  | 'notices.unsubscribed'

/** The subject of an action; the log can be filtered by it. */
export type AuditFamily = AuditAction extends `${infer Family}.${string}` ? Family : never

/** A change to a key or account: who, when, from which address, what. Written in the same batch as the change itself. */
export interface AuditEntry {
  readonly id: AuditId
  readonly at: number
  readonly actor: Actor
  readonly accountId: AccountId | null
  readonly keyId: KeyId | null
  /** An `AuditAction`. */
  readonly action: string
  /** The changes, without secrets. */
  readonly detail: Readonly<Record<string, unknown>>
  /** The old values of what changed, without secrets. Null where there were none. */
  readonly before: Readonly<Record<string, unknown>> | null
}

/** Creates an entry with a new id. An entry without an account or key concerns the whole gateway. */
export function auditEntry({
  accountId = null,
  keyId = null,
  detail = {},
  before = null,
  ...change
}: Pick<AuditEntry, 'at' | 'actor'> & { readonly action: AuditAction } & Partial<
    Pick<AuditEntry, 'accountId' | 'keyId' | 'detail' | 'before'>
  >): AuditEntry {
  return { id: makeId('audit', change.at), ...change, accountId, keyId, detail, before }
}

const MAX_JOINABLE = 1000

/**
 * Joins repeated changes of the same fields by the same actor within a minute into one entry: with the old values of the first, the new ones
 * of the last, and the id of the first, under which stores replace it (`insertAudit`). So changing a field back and forth fills no disk.
 */
export class JoinedChanges {
  private readonly firsts = new Map<string, AuditEntry>()

  /** The entry to write for this change. */
  of(entry: AuditEntry): AuditEntry {
    const { at, actor, accountId, keyId, action, detail } = entry
    const fields = Object.keys(detail).toSorted()
    const name = JSON.stringify([
      accountId,
      keyId,
      action,
      actor.kind,
      actor.id,
      actor.address,
      fields,
      detail['connection'],
    ])
    const first = this.firsts.get(name)
    if (first && at >= first.at && at - first.at < MINUTE_MS)
      return { ...entry, id: first.id, at: first.at, before: first.before }
    if (this.firsts.size >= MAX_JOINABLE) this.firsts.clear()
    this.firsts.set(name, entry)
    return entry
  }
}

/** Which entries to read; null does not narrow. */
export interface AuditFilter {
  /** Null reads those of the whole gateway, for operators. */
  readonly accountId: AccountId | null
  readonly keyId: KeyId | null
  readonly actorKind: Actor['kind'] | null
  /** A whole action, such as `key.create`, or all that begin with a word, such as `key`. */
  readonly action: string | null
  /** Milliseconds; from inclusive, to exclusive. */
  readonly from: number | null
  readonly to: number | null
}

/** Follows what operators and support did, in the order of commits. */
export interface OperatorActs {
  /** Those after a position, and the position of the last entry; with null, only the position. */
  after(position: number | null): Promise<{ readonly acts: readonly AuditEntry[]; readonly position: number }>
}

/** Reads the audit log. Entries come newest first, and an unknown cursor returns null. */
export interface AuditTrail {
  /** Changes to one key of an account. */
  ofKey(account: AccountId, key: KeyId, limit: number, cursor: string | null): Promise<Page<AuditEntry> | null>
  /** Changes to an account and all of its keys. */
  ofAccount(account: AccountId, limit: number, cursor: string | null): Promise<Page<AuditEntry> | null>
  /**
   * The entries that match, newest first. If few match, a page may be short or empty although more follow: only a null `next` marks the
   * last one.
   */
  find(filter: AuditFilter, limit: number, cursor: string | null): Promise<Page<AuditEntry> | null>
  /** Records a change that the sign-in library already made: its writes cannot share a batch with ours. */
  write(entry: AuditEntry): Promise<void>
}
