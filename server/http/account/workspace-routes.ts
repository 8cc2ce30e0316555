import type { Identity } from '../../core/accounts/identity'
import { readEmail } from '../../core/accounts/mails/email-change'
import { invitationMail } from '../../core/accounts/mails/owner-mails'
import type { MemberKeys } from '../../core/accounts/member-keys'
import type { Member, MemberStore } from '../../core/accounts/members'
import type { WorkspaceActor, Workspaces } from '../../core/accounts/workspaces'
import { isoTime } from '../../core/clock'
import type { AccountId } from '../../core/ids'
import type { Mail } from '../../core/mail/mailer'
import { budgetRecord, budgetsOf, budgetsRecord } from '../keys/budget-record'
import { type Owner, type OwnerSessions, SIGNED_IN_JUST_NOW, SIGNED_IN_TODAY } from '../middleware/caller/owner-session'
import { readJson } from '../middleware/input/json-body'
import { readable, readBody, validateBody } from '../middleware/input/validate-body'
import { type RequestContext, routeGroup } from '../middleware/request-context'
import { notFound, taken } from '../middleware/response/failures'
import { shownOnce } from '../middleware/response/shown-once'
import { UNDOCUMENTED } from '../openapi/documented'
import { allowed, type Id, ownPages, signedIn, signedInUser } from '../routing/api-access'
import {
  type CanceledInvitation,
  type InvitationList,
  InvitationToken,
  invitationRecord,
  MemberBudgets,
  type MemberList,
  memberRecord,
  NewHolder,
  NewInvitation,
  NewRole,
  type OneMember,
  type ReadInvitation,
  Removal,
  type SentInvitation,
  type ShownWorkspace,
  type WorkspaceList,
  WorkspaceName,
} from './workspace-record'

export interface WorkspaceParts {
  readonly owners: OwnerSessions
  readonly members: MemberStore
  readonly workspaces: Workspaces
  readonly memberKeys: MemberKeys
  readonly identity: Pick<Identity, 'workspaces' | 'user'>
  /** Sends invitations; null without mail. The route does not wait for it. */
  readonly mailInvitation: ((mail: Mail) => void) | null
  readonly baseUrl: string
  readonly now: () => number
}

function acting({ accountId, account, member, actor }: Owner, { request }: RequestContext): WorkspaceActor {
  return { accountId, account, member, actor, headers: request.headers }
}

/** The workspaces of the user, and the people of the one that is shown. */
export function workspaceRoutes(parts: WorkspaceParts) {
  const { owners, members, workspaces, identity } = parts
  return routeGroup({ name: 'workspaces', prefix: '/api' })
    .get(
      '/workspaces',
      ...allowed(signedIn(owners, 'member'), UNDOCUMENTED, async ({ owner, accountId }): Promise<WorkspaceList> => {
        const own = await members.of(owner.member.userId)
        const names = await members.names(own.map((one) => one.accountId))
        return {
          workspaces: own.map(({ accountId: id, role }) => ({
            id,
            name: names.get(id) ?? id,
            role,
            shown: id === accountId,
          })),
        }
      }),
    )
    .patch(
      '/workspaces/shown',
      ...allowed(signedIn(owners, 'settings:write'), UNDOCUMENTED, async ({ owner, context }) => {
        const { name } = await readBody(WorkspaceName, context)
        await workspaces.rename(acting(owner, context), name.trim())
        return { name: name.trim() }
      }),
    )
    .post(
      '/workspaces/:id/show',
      ...allowed(signedInUser(owners), UNDOCUMENTED, async ({ user }, { id }: Id): Promise<ShownWorkspace> => {
        const chosen = (await members.of(user.userId)).find(({ accountId }) => accountId === id)
        if (!chosen) throw notFound('You are not a member of this workspace.')
        await identity.workspaces.show(user.sessionId, chosen.accountId)
        return { id: chosen.accountId }
      }),
    )
    .post(
      '/keys/:id/give',
      ...allowed(signedIn(owners, 'members:write'), UNDOCUMENTED, async ({ owner, context }, { id }: Id) => {
        const { to } = await readBody(NewHolder, context)
        taken(await workspaces.giveKey(acting(owner, context), id, to))
        return { id }
      }),
    )
    .use(memberRoutes(parts))
    .use(invitationRoutes(parts))
}

function memberRoutes({ owners, members, workspaces, memberKeys, now }: WorkspaceParts) {
  const budgeted = async (one: Member, { accountId, member }: Owner) => ({
    ...memberRecord(one, member.userId),
    ...budgetsRecord(await memberKeys.budgetsOf(accountId, one.userId), now()),
  })
  return routeGroup({ name: 'members', prefix: '/members' })
    .get(
      '',
      ...allowed(signedIn(owners, 'members:read'), UNDOCUMENTED, async ({ owner, accountId }): Promise<MemberList> => {
        const all = await members.ofAccount(accountId)
        return { members: await Promise.all(all.map((one) => budgeted(one, owner))) }
      }),
    )
    .get(
      '/default-budgets',
      ...allowed(signedIn(owners, 'members:read'), UNDOCUMENTED, async ({ accountId }): Promise<MemberBudgets> => {
        const budgets = await members.defaultBudgets(accountId)
        return { budgets: budgets.map((budget) => budgetRecord(budget, now())) }
      }),
    )
    .put(
      '/default-budgets',
      ...allowed(
        signedIn(owners, 'members:write'),
        UNDOCUMENTED,
        async ({ owner, context }): Promise<MemberBudgets> => {
          const { budgets } = await readBody(MemberBudgets, context)
          await workspaces.setDefault(acting(owner, context), budgetsOf(budgets))
          return { budgets }
        },
      ),
    )
    .put(
      '/:id/budgets',
      ...allowed(signedIn(owners, 'members:write'), UNDOCUMENTED, async ({ owner, context }, { id }: Id) => {
        const sent = validateBody(MemberBudgets, taken(await readJson(context)))
        const form = { budgets: budgetsOf(sent.form.budgets ?? []) }
        const member = taken(await workspaces.setBudgets(acting(owner, context), id, { ...sent, form }))
        return { member: await budgeted(member, owner) }
      }),
    )
    .patch(
      '/:id',
      ...allowed(
        signedIn(owners, 'members:write', SIGNED_IN_TODAY),
        UNDOCUMENTED,
        async ({ owner, context }, { id }: Id): Promise<OneMember> => {
          const { role } = await readBody(NewRole, context)
          const changed = taken(await workspaces.setRole(acting(owner, context), id, role))
          return { member: memberRecord(changed, owner.member.userId) }
        },
      ),
    )
    .post(
      '/:id/remove',
      ...allowed(
        signedIn(owners, 'member', SIGNED_IN_TODAY),
        UNDOCUMENTED,
        async ({ owner, context }, { id }: Id): Promise<OneMember> => {
          const { keys = 'disable', to = null } = await readBody(Removal, context, {})
          const removed = await workspaces.remove(acting(owner, context), id, keys === 'give' ? { to } : keys)
          return { member: memberRecord(taken(removed), owner.member.userId) }
        },
      ),
    )
    .post(
      '/:id/hand-over',
      ...allowed(
        signedIn(owners, 'workspace:own', SIGNED_IN_JUST_NOW),
        UNDOCUMENTED,
        async ({ owner, context }, { id }: Id): Promise<OneMember> => {
          const next = taken(await workspaces.handOver(acting(owner, context), id))
          return { member: memberRecord(next, owner.member.userId) }
        },
      ),
    )
}

function invitationRoutes(parts: WorkspaceParts) {
  const { owners, members, workspaces, identity, now } = parts
  return routeGroup({ name: 'invitations', prefix: '/invitations' })
    .get(
      '',
      ...allowed(signedIn(owners, 'members:write'), UNDOCUMENTED, async ({ accountId }): Promise<InvitationList> => {
        const emails = new Map((await members.ofAccount(accountId)).map(({ userId, email }) => [userId, email]))
        const open = await members.invitations(accountId, now())
        return { invitations: open.map((one) => invitationRecord(one, emails.get(one.invitedBy) ?? null)) }
      }),
    )
    .post(
      '',
      ...allowed(
        signedIn(owners, 'members:write', SIGNED_IN_TODAY),
        UNDOCUMENTED,
        async ({ owner, context, set }): Promise<SentInvitation> => {
          const { email, role } = await readBody(NewInvitation, context)
          const to = readable(readEmail(email))
          const secret = taken(await workspaces.invite(acting(owner, context), to, role))
          const link = `${parts.baseUrl}/invite#token=${secret}`
          set.status = 201
          if (!parts.mailInvitation) return shownOnce(set, { email: to, role, link })
          const workspace = await nameOf(members, owner.accountId)
          parts.mailInvitation(invitationMail(to, { workspace, by: owner.email, role, link }))
          return { email: to, role, link: null }
        },
      ),
    )
    .delete(
      '/:id',
      ...allowed(
        signedIn(owners, 'members:write'),
        UNDOCUMENTED,
        async ({ owner, context }, { id }: Id): Promise<CanceledInvitation> => ({
          id: taken(await workspaces.cancel(acting(owner, context), id)).id,
        }),
      ),
    )
    .post(
      '/read',
      ...allowed(ownPages(owners), UNDOCUMENTED, async ({ context }): Promise<ReadInvitation> => {
        const { token } = await readBody(InvitationToken, context)
        const { accountId, email, role, invitedBy, expiresAt } = taken(await workspaces.invitation(token))
        const by = (await identity.user(invitedBy))?.name ?? null
        const ends = isoTime(expiresAt)
        return { workspace: await nameOf(members, accountId), email, role, invited_by: by, expires_at: ends }
      }),
    )
    .post(
      '/accept',
      ...allowed(signedInUser(owners), UNDOCUMENTED, async ({ user, context }): Promise<ShownWorkspace> => {
        const { token } = await readBody(InvitationToken, context)
        return { id: taken(await workspaces.accept(user, context.request.headers, token)) }
      }),
    )
}

async function nameOf(members: Pick<MemberStore, 'names'>, account: AccountId): Promise<string> {
  return (await members.names([account])).get(account) ?? account
}
