import { and, asc, desc, eq, gt, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { Invitation, Member, MemberStore, Membership } from '../../../core/accounts/members'
import type { AuditEntry } from '../../../core/audit'
import { builtOnce } from '../../../core/built-once'
import type { Budget } from '../../../core/credentials/api-key'
import type { AccountId } from '../../../core/ids'
import { insertAudit } from './audit/audit-trail'
import { isAmong } from './driver/among-all'
import { accounts } from './schema/accounts'
import {
  accountDirectory,
  identityInvitation as invitations,
  identityMember as members,
  identityOrganization as organizations,
  identityUser as users,
} from './schema/identity'

/** What a workspace keeps in the library's own column. */
interface Metadata {
  readonly budgets?: readonly Budget[]
}

/** Users whose workspaces are kept in memory; all are forgotten when there are more. */
const MAX_KNOWN = 50_000

/** Memberships in the tables of the sign-in library. Those of users who act are in memory. */
export class LibsqlMembers implements MemberStore {
  private readonly db: LibSQLDatabase
  private readonly query: () => ReturnType<typeof membershipsQuery>
  private readonly memberships = new Map<string, readonly Membership[]>()
  private changes = 0

  constructor(db: LibSQLDatabase) {
    this.db = db
    this.query = builtOnce(() => membershipsQuery(db))
  }

  known(userId: string): readonly Membership[] | null {
    return this.memberships.get(userId) ?? null
  }

  async of(userId: string): Promise<readonly Membership[]> {
    const known = this.known(userId)
    if (known) return known
    const { changes } = this
    const found = await this.query().all({ userId })
    // What was read before a change may be older. A user without a workspace gets one soon.
    if (found.length > 0 && changes === this.changes) {
      if (this.memberships.size === MAX_KNOWN) this.memberships.clear()
      this.memberships.set(userId, found)
    }
    return found
  }

  changed(userId: string): void {
    this.changes++
    this.memberships.delete(userId)
  }

  async forget(userId: string): Promise<void> {
    await this.db.delete(members).where(eq(members.userId, userId))
    this.changed(userId)
  }

  async ofAccount(account: AccountId): Promise<readonly Member[]> {
    const rows = await this.db
      .select({
        id: members.id,
        userId: members.userId,
        role: members.role,
        email: users.email,
        name: users.name,
        joinedAt: members.createdAt,
      })
      .from(members)
      .innerJoin(users, eq(users.id, members.userId))
      .where(eq(members.organizationId, account))
      .orderBy(asc(members.createdAt), asc(members.id))
    return rows.map((row) => ({ ...row, joinedAt: row.joinedAt.getTime() }))
  }

  async names(wanted: readonly AccountId[]): Promise<ReadonlyMap<AccountId, string>> {
    const rows = await this.db
      .select({ id: organizations.id, name: organizations.name })
      .from(organizations)
      .where(isAmong(organizations.id, wanted))
    return new Map(rows.map(({ id, name }) => [id, name]))
  }

  async rename(account: AccountId, name: string, audit: AuditEntry): Promise<void> {
    await this.db.batch([
      this.db.update(organizations).set({ name }).where(eq(organizations.id, account)),
      insertAudit(this.db, audit),
    ])
  }

  async defaultBudgets(account: AccountId): Promise<readonly Budget[]> {
    const [row] = await this.db
      .select({ metadata: organizations.metadata })
      .from(organizations)
      .where(eq(organizations.id, account))
    const { budgets = [] }: Metadata = JSON.parse(row?.metadata ?? '{}')
    return budgets
  }

  async setDefaultBudgets(account: AccountId, budgets: readonly Budget[], audit: AuditEntry): Promise<void> {
    const metadata = JSON.stringify({ budgets } satisfies Metadata)
    await this.db.batch([
      this.db.update(organizations).set({ metadata }).where(eq(organizations.id, account)),
      insertAudit(this.db, audit),
    ])
  }

  async invitations(account: AccountId, at: number): Promise<readonly Invitation[]> {
    const rows = await this.db
      .select()
      .from(invitations)
      .where(and(isPending(account), gt(invitations.expiresAt, new Date(at))))
      .orderBy(desc(invitations.createdAt))
    return rows.map(({ id, email, role, inviterId, createdAt, expiresAt }) => ({
      id,
      email,
      role: role ?? 'viewer',
      invitedBy: inviterId,
      createdAt: createdAt.getTime(),
      expiresAt: expiresAt.getTime(),
    }))
  }

  async invitedSince(account: AccountId, from: number): Promise<number> {
    const sent = and(eq(invitations.organizationId, account), gt(invitations.createdAt, new Date(from)))
    return this.db.$count(invitations, sent)
  }

  async cancelInvitations(
    account: AccountId,
    which: { readonly id: string } | { readonly email: string },
  ): Promise<number> {
    const chosen = 'id' in which ? eq(invitations.id, which.id) : eq(invitations.email, which.email.toLowerCase())
    const ended = await this.db
      .update(invitations)
      .set({ status: 'canceled' })
      .where(and(isPending(account), chosen))
      .returning({ id: invitations.id })
    return ended.length
  }

  async handOver(account: AccountId, from: string, to: string, audit: AuditEntry): Promise<void> {
    const of = (userId: string) => and(eq(members.organizationId, account), eq(members.userId, userId))
    await this.db.batch([
      this.db.update(members).set({ role: 'admin' }).where(of(from)),
      this.db.update(members).set({ role: 'owner' }).where(of(to)),
      this.db.update(accounts).set({ userId: to }).where(eq(accounts.id, account)),
      // It is nobody's own account any more: who gave it away gets another one.
      this.db.update(accountDirectory).set({ userId: account }).where(eq(accountDirectory.accountId, account)),
      insertAudit(this.db, audit),
    ])
    this.changed(from)
    this.changed(to)
  }
}

function isPending(account: AccountId) {
  return and(eq(invitations.organizationId, account), eq(invitations.status, 'pending'))
}

function membershipsQuery(db: LibSQLDatabase) {
  return db
    .select({ accountId: members.organizationId, role: members.role })
    .from(members)
    .leftJoin(
      accountDirectory,
      and(eq(accountDirectory.accountId, members.organizationId), eq(accountDirectory.userId, members.userId)),
    )
    .where(eq(members.userId, sql.placeholder('userId')))
    .orderBy(desc(sql`${accountDirectory.accountId} IS NOT NULL`), asc(members.createdAt))
    .prepare()
}
