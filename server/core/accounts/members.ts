import type { AuditEntry } from '../audit'
import type { Budget } from '../credentials/api-key'
import { failure } from '../failure'
import type { AccountId } from '../ids'
import type { Role } from './roles'

/** A workspace that a user belongs to. */
export interface Membership {
  readonly accountId: AccountId
  readonly role: Role
}

/** A person of a workspace, as the others see them. */
export interface Member {
  readonly id: string
  readonly userId: string
  readonly role: Role
  readonly email: string
  readonly name: string
  readonly joinedAt: number
}

/** An invitation that can still be accepted. Its secret is only in the link. */
export interface Invitation {
  readonly id: string
  readonly email: string
  readonly role: Role
  /** The user who sent it. */
  readonly invitedBy: string
  readonly createdAt: number
  readonly expiresAt: number
}

/**
 * Who belongs to which workspace. Reads see every change that was confirmed before they began. Changes are one atomic batch with their audit row;
 * those that the sign-in library makes are `Identity`'s, and are followed by `changed`.
 */
export interface MemberStore {
  /** The workspaces of a user as they are in memory; null if `of` must be asked. */
  known(userId: string): readonly Membership[] | null
  /** The workspaces of a user: the user's own first, then as joined. */
  of(userId: string): Promise<readonly Membership[]>
  /** In the order in which they joined. */
  ofAccount(account: AccountId): Promise<readonly Member[]>
  /** The names of workspaces. */
  names(accounts: readonly AccountId[]): Promise<ReadonlyMap<AccountId, string>>
  rename(account: AccountId, name: string, audit: AuditEntry): Promise<void>
  /** The budgets of members who join from now on. */
  defaultBudgets(account: AccountId): Promise<readonly Budget[]>
  setDefaultBudgets(account: AccountId, budgets: readonly Budget[], audit: AuditEntry): Promise<void>
  /** Invitations that were not accepted, canceled or outlived, newest first. */
  invitations(account: AccountId, at: number): Promise<readonly Invitation[]>
  /** How many were sent, also those that were answered or canceled. */
  invitedSince(account: AccountId, from: number): Promise<number>
  /** Those with this id or to this address. Returns how many there were. */
  cancelInvitations(account: AccountId, which: { readonly id: string } | { readonly email: string }): Promise<number>
  /** Makes `to` the owner, and the owner an admin. `to` must be a member. */
  handOver(account: AccountId, from: string, to: string, audit: AuditEntry): Promise<void>
  /** A user is erased, and belongs to nothing from then on. */
  forget(userId: string): Promise<void>
  /** The memberships of a user were changed elsewhere. */
  changed(userId: string): void
}

export const NO_LONGER_MEMBER = failure('insufficient_permissions', 'You are no longer a member of this workspace.')

/** The role of the user in the workspace, or null. */
export function roleIn(memberships: readonly Membership[], account: AccountId): Role | null {
  return memberships.find(({ accountId }) => accountId === account)?.role ?? null
}
