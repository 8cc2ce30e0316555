import { type Actor, type AuditAction, type AuditTrail, auditEntry } from '../audit'
import type { Clock } from '../clock'
import { DAY_MS } from '../clock'
import type { Budget } from '../credentials/api-key'
import type { EventPublisher } from '../events/live-events'
import { type Failure, failure } from '../failure'
import type { AccountId } from '../ids'
import { KeyedMutex } from '../keyed-mutex'
import { err, ok, type Result } from '../result'
import { type Account, staffRole } from './account'
import type { AppGrants } from './app-grants'
import type { AcceptRefusal, Identity, InviteRefusal, ReadInvitation } from './identity'
import type { KeysOfLeaver, MemberKeys } from './member-keys'
import { type Invitation, type Member, type MemberStore, NO_LONGER_MEMBER, roleIn } from './members'
import { type ActingMember, mayDo, type Right, type Role } from './roles'
import type { AccountStore } from './store'
import type { Submitted } from './submitted'

/** Mails to strangers that a workspace may cause. */
const INVITATIONS_A_DAY = 50

/** A member who changes a workspace. `headers`: of the request, whose session the sign-in library reads. */
export interface WorkspaceActor {
  readonly accountId: AccountId
  readonly account: Account
  readonly member: ActingMember
  readonly actor: Actor
  readonly headers: Headers
}

interface Budgeted {
  readonly budgets: readonly Budget[]
}

function ofActor({ accountId, actor }: WorkspaceActor) {
  return { accountId, actor }
}

interface Parts {
  readonly members: MemberStore
  readonly identity: Pick<Identity, 'workspaces'>
  readonly accounts: Pick<AccountStore, 'handedOver'>
  readonly memberKeys: MemberKeys
  readonly appGrants: Pick<AppGrants, 'disconnectAll'>
  readonly audit: Pick<AuditTrail, 'write'>
  readonly events: EventPublisher
  readonly clock: Clock
}

const NO_SUCH_MEMBER = failure('resource_not_found', 'This workspace has no such member.')
const OWNER_STAYS = failure('invalid_state', 'The owner cannot leave. Hand the workspace over to another member first.')

const INVITE_REFUSALS: Readonly<Record<InviteRefusal, Failure>> = {
  already_member: failure('invalid_state', 'This person is already a member.'),
  too_many_invitations: failure('limit_reached', 'Too many invitations wait for an answer. Cancel some first.'),
  invalid_email: failure('invalid_parameter', 'email must be an email address.', { param: 'email' }),
}
const ACCEPT_REFUSALS: Readonly<Record<AcceptRefusal, Failure>> = {
  unknown: failure(
    'resource_not_found',
    'This invitation was used, canceled, or is older than 7 days. Ask for a new one.',
  ),
  other_address: failure(
    'insufficient_permissions',
    'This invitation is for another email address. Sign in with that one.',
  ),
  unconfirmed: failure('invalid_state', 'Confirm your email address first, then open the invitation again.'),
  already_member: failure('invalid_state', 'You are already a member.'),
  too_many_members: failure('limit_reached', 'This workspace has as many members as it can have.'),
}

/**
 * People of a workspace: invites, changes and removes them. When a promise resolves, the change applies to the next request. Changes of one
 * workspace's members run one at a time, each with the role that its actor has by then.
 */
export class Workspaces {
  private readonly parts: Parts
  private readonly mutex = new KeyedMutex()

  constructor(parts: Parts) {
    this.parts = parts
  }

  /** Invites an address, in place of what it was invited to before. Returns the secret of the link, which nothing keeps. */
  async invite(by: WorkspaceActor, email: string, role: Role): Promise<Result<string, Failure>> {
    const { members, identity, clock } = this.parts
    const { accountId } = by
    if ((await members.invitedSince(accountId, clock.now() - DAY_MS)) >= INVITATIONS_A_DAY)
      return err(failure('limit_reached', `A workspace can send ${INVITATIONS_A_DAY} invitations a day.`))
    await members.cancelInvitations(accountId, { email })
    const invited = await identity.workspaces.invite(by.headers, { accountId, email, role })
    if (!invited.ok) return err(INVITE_REFUSALS[invited.error])
    await this.note(by, 'member.invite', { role })
    return invited
  }

  async cancel(by: WorkspaceActor, id: string): Promise<Result<Invitation, Failure>> {
    const { members, clock } = this.parts
    const found = (await members.invitations(by.accountId, clock.now())).find((one) => one.id === id)
    if (!found || (await members.cancelInvitations(by.accountId, { id })) === 0)
      return err(failure('resource_not_found', 'This invitation does not exist or was already answered.'))
    await this.note(by, 'member.invite_cancel', { role: found.role })
    return ok(found)
  }

  /** What the link with this secret invites to. */
  async invitation(secret: string): Promise<Result<ReadInvitation, Failure>> {
    const found = await this.parts.identity.workspaces.invitation(secret)
    return found ? ok(found) : err(ACCEPT_REFUSALS.unknown)
  }

  async accept(
    user: { readonly userId: string; readonly email: string; readonly actor: Actor },
    headers: Headers,
    secret: string,
  ): Promise<Result<AccountId, Failure>> {
    const { members, identity, audit, clock } = this.parts
    const found = await identity.workspaces.invitation(secret)
    if (!found) return err(ACCEPT_REFUSALS.unknown)
    const { accountId, role, email } = found
    if (roleIn(await members.of(user.userId), accountId) !== null) return err(ACCEPT_REFUSALS.already_member)
    if (email !== user.email.toLowerCase()) return err(ACCEPT_REFUSALS.other_address)
    // First, so that nothing is spent without them.
    await this.setDefaultBudgets(accountId, user)
    const accepted = await identity.workspaces.accept(headers, secret)
    if (!accepted.ok) return err(ACCEPT_REFUSALS[accepted.error])
    members.changed(user.userId)
    const detail = { role }
    await audit.write(auditEntry({ at: clock.now(), actor: user.actor, accountId, action: 'member.join', detail }))
    return accepted
  }

  setRole(by: WorkspaceActor, id: string, role: Role): Promise<Result<Member, Failure>> {
    return this.inTurn(by, 'members:write', () => this.giveRole(by, id, role))
  }

  private async giveRole(by: WorkspaceActor, id: string, role: Role): Promise<Result<Member, Failure>> {
    const member = await this.member(by.accountId, id)
    if (!member) return err(NO_SUCH_MEMBER)
    if (member.role === 'owner')
      return err(failure('invalid_state', "The owner's role is given away by handing the workspace over."))
    if (member.userId === by.member.userId)
      return err(failure('invalid_state', 'Nobody changes their own role. Ask another admin.'))
    await this.parts.identity.workspaces.setRole(by.headers, { accountId: by.accountId, id, role })
    await this.changed(by, member, 'member.role', { role }, { role: member.role })
    return ok({ ...member, role })
  }

  /** Also to leave. Ends the member's apps here and says what becomes of the keys that the member made. */
  remove(by: WorkspaceActor, id: string, keys: KeysOfLeaver): Promise<Result<Member, Failure>> {
    return this.inTurn(by, null, (role) => this.end(by, role, id, keys))
  }

  private async end(by: WorkspaceActor, role: Role, id: string, keys: KeysOfLeaver): Promise<Result<Member, Failure>> {
    const { accountId, member: self } = by
    const member = await this.member(accountId, id)
    if (!member) return err(NO_SUCH_MEMBER)
    const isSelf = member.userId === self.userId
    if (!isSelf && !mayDo(role, 'members:write')) return err(notAllowed(role))
    if (member.role === 'owner') return err(OWNER_STAYS)
    const heir = keys === 'disable' ? null : await this.heirOf(accountId, keys.to, member)
    if (heir && !heir.ok) return heir
    const left = heir ? { to: heir.value } : 'disable'
    // First, so that no crash leaves the keys of somebody who is no member any more, and again for what was made meanwhile.
    await this.endAccess(by, member, left)
    await this.parts.identity.workspaces.remove(by.headers, { accountId, id, isSelf })
    await this.changed(by, member, isSelf ? 'member.leave' : 'member.remove', {
      keys: keys === 'disable' ? keys : 'given',
    })
    await this.endAccess(by, member, left)
    return ok(member)
  }

  private async endAccess({ accountId, actor }: WorkspaceActor, { userId }: Member, keys: KeysOfLeaver): Promise<void> {
    await this.parts.appGrants.disconnectAll(accountId, userId, actor)
    await this.parts.memberKeys.leave({ accountId, actor }, userId, keys)
  }

  /** Makes another member the owner; the owner stays as an admin. */
  handOver(by: WorkspaceActor, id: string): Promise<Result<Member, Failure>> {
    return this.inTurn(by, 'workspace:own', () => this.makeOwner(by, id))
  }

  private async makeOwner(by: WorkspaceActor, id: string): Promise<Result<Member, Failure>> {
    const { accountId, account, member: self } = by
    const member = await this.member(accountId, id)
    if (!member || member.role === 'owner') return err(NO_SUCH_MEMBER)
    if (staffRole(account))
      return err(
        failure('invalid_state', 'The workspace of an operator cannot be handed over. Give up the role first.'),
      )
    const entry = { at: this.parts.clock.now(), actor: by.actor, accountId, action: 'workspace.hand_over' } as const
    await this.parts.members.handOver(
      accountId,
      self.userId,
      member.userId,
      auditEntry({ ...entry, detail: { to: member.userId } }),
    )
    this.parts.accounts.handedOver(account, member.userId)
    this.parts.events.publish(accountId, { type: 'session' })
    return ok({ ...member, role: 'owner' })
  }

  /** What a member may spend in each period, over all keys and apps of theirs. */
  async setBudgets(by: WorkspaceActor, id: string, sent: Submitted<Budgeted>): Promise<Result<Member, Failure>> {
    const member = await this.member(by.accountId, id)
    if (!member) return err(NO_SUCH_MEMBER)
    const set = await this.parts.memberKeys.setBudgets(ofActor(by), member.userId, sent)
    return set.ok ? ok(member) : set
  }

  /** The same of members who join from now on. */
  async setDefault({ accountId, actor }: WorkspaceActor, budgets: readonly Budget[]): Promise<void> {
    const at = this.parts.clock.now()
    const audit = auditEntry({ at, actor, accountId, action: 'workspace.default_budgets', detail: { budgets } })
    await this.parts.members.setDefaultBudgets(accountId, budgets, audit)
  }

  /** Gives a key to another member, or with null to the workspace. */
  giveKey(by: WorkspaceActor, id: string, to: string | null): Promise<Result<null, Failure>> {
    return this.inTurn(by, 'members:write', async () => {
      const heir = await this.heirOf(by.accountId, to, null)
      return heir.ok ? this.parts.memberKeys.giveKey(ofActor(by), id, heir.value) : heir
    })
  }

  private async setDefaultBudgets(
    accountId: AccountId,
    { userId, actor }: { readonly userId: string; readonly actor: Actor },
  ) {
    const budgets = await this.parts.members.defaultBudgets(accountId)
    if (budgets.length > 0)
      await this.parts.memberKeys.setBudgets({ accountId, actor }, userId, {
        isWhole: true,
        form: { budgets },
        errors: [],
      })
  }

  async rename({ accountId, actor }: WorkspaceActor, name: string): Promise<void> {
    const audit = auditEntry({ at: this.parts.clock.now(), actor, accountId, action: 'workspace.rename' })
    await this.parts.members.rename(accountId, name, audit)
  }

  private inTurn<T>(
    { accountId, member }: WorkspaceActor,
    right: Right | null,
    act: (role: Role) => Promise<Result<T, Failure>>,
  ): Promise<Result<T, Failure>> {
    return this.mutex.take(accountId, async () => {
      const role = roleIn(await this.parts.members.of(member.userId), accountId)
      if (role === null || (right !== null && !mayDo(role, right))) return err(notAllowed(role))
      return act(role)
    })
  }

  /** The user id of who gets the keys; null for the workspace. */
  private async heirOf(
    accountId: AccountId,
    to: string | null,
    leaver: Member | null,
  ): Promise<Result<string | null, Failure>> {
    if (to === null) return ok(null)
    const heir = await this.member(accountId, to)
    return heir && heir.id !== leaver?.id && mayDo(heir.role, 'keys:write') ? ok(heir.userId) : err(NO_SUCH_MEMBER)
  }

  private async member(accountId: AccountId, id: string): Promise<Member | null> {
    return (await this.parts.members.ofAccount(accountId)).find((one) => one.id === id) ?? null
  }

  /** Open pages of the workspace notice it at once. */
  private async changed(
    by: WorkspaceActor,
    { userId }: Member,
    action: AuditAction,
    detail: Record<string, unknown>,
    before: Record<string, unknown> | null = null,
  ): Promise<void> {
    this.parts.members.changed(userId)
    this.parts.events.publish(by.accountId, { type: 'session' })
    await this.note(by, action, { member: userId, ...detail }, before)
  }

  private note(
    { actor, accountId }: WorkspaceActor,
    action: AuditAction,
    detail: Record<string, unknown>,
    before: Record<string, unknown> | null = null,
  ): Promise<void> {
    return this.parts.audit.write(auditEntry({ at: this.parts.clock.now(), actor, accountId, action, detail, before }))
  }
}

function notAllowed(role: Role | null): Failure {
  if (role === null) return NO_LONGER_MEMBER
  return failure('insufficient_permissions', `Your role in this workspace, ${role}, does not allow this.`)
}
