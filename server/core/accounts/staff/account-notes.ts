import type { AuditEntry } from '../../audit'
import type { AccountId, NoteId } from '../../ids'

/** A colleague's note about an account. Its owner never sees it. */
export interface AccountNote {
  readonly id: NoteId
  readonly accountId: AccountId
  readonly at: number
  /** The user id of who wrote it, or `console`. */
  readonly author: string
  readonly text: string
}

/** The searchable facts of an account. */
export interface AccountFinder {
  /** The accounts of keys whose shown beginning starts with `prefix` and, unless it is null, whose last four characters are `last4`. */
  ofKeys(prefix: string, last4: string | null, limit: number): Promise<readonly AccountId[]>
  ofKey(id: string): Promise<AccountId | null>
  ofRequest(id: string): Promise<AccountId | null>
  ofPayment(id: string): Promise<AccountId | null>
}

export interface AccountNotes {
  /** Newest first. */
  of(account: AccountId): Promise<readonly AccountNote[]>
  add(note: AccountNote, audit: AuditEntry): Promise<void>
}
