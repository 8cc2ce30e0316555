import { isAPIError } from 'better-auth/api'
import { createAccessControl } from 'better-auth/plugins/access'
import { organization } from 'better-auth/plugins/organization'
import { and, eq, gt } from 'drizzle-orm'
import type { AcceptRefusal, InviteRefusal, WorkspaceChanges } from '../../core/accounts/identity'
import { mayDo, ROLES, type Role } from '../../core/accounts/roles'
import { DAY_MS } from '../../core/clock'
import type { AccountId } from '../../core/ids'
import { err, ok } from '../../core/result'
import { identityInvitation, identitySession } from '../stores/libsql/schema/identity'
import type { IdentityOptions } from './identity-options'
import { secretHash } from './secret-hash'

const INVITATION_DAYS = 7
const MAX_MEMBERS = 200
const MAX_PENDING = 50

/** What the library asks of roles. Its own routes are closed; ours check the same right before. */
const control = createAccessControl({
  organization: ['update', 'delete'],
  member: ['create', 'update', 'delete'],
  invitation: ['create', 'cancel'],
})
const staff = control.newRole({
  organization: ['update'],
  member: ['create', 'update', 'delete'],
  invitation: ['create', 'cancel'],
})
const others = control.newRole({ organization: [], member: [], invitation: [] })
const roles = Object.fromEntries(ROLES.map((role) => [role, mayDo(role, 'members:write') ? staff : others])) as Record<
  Role,
  typeof staff
>

/** `confirmed`: only a confirmed address accepts an invitation, where addresses are confirmed. */
export function workspacePlugin(confirmed: boolean) {
  return organization({
    ac: control,
    roles,
    creatorRole: 'owner',
    allowUserToCreateOrganization: false,
    disableOrganizationDeletion: true,
    invitationExpiresIn: (INVITATION_DAYS * DAY_MS) / 1000,
    invitationLimit: MAX_PENDING,
    membershipLimit: MAX_MEMBERS,
    requireEmailVerificationOnInvitation: confirmed,
  })
}

/** The calls of the library that change a workspace. */
interface LibraryCalls {
  createInvitation(call: {
    headers: Headers
    body: { email: string; role: Role; organizationId: string }
  }): Promise<{ readonly id: string }>
  acceptInvitation(call: {
    headers: Headers
    body: { invitationId: string }
  }): Promise<{ readonly invitation: { readonly organizationId: string } } | null>
  updateMemberRole(call: {
    headers: Headers
    body: { memberId: string; role: Role; organizationId: string }
  }): Promise<unknown>
  leaveOrganization(call: { headers: Headers; body: { organizationId: string } }): Promise<unknown>
  removeMember(call: { headers: Headers; body: { memberIdOrEmail: string; organizationId: string } }): Promise<unknown>
}

const INVITE_REFUSALS: Readonly<Record<string, InviteRefusal>> = {
  USER_IS_ALREADY_A_MEMBER_OF_THIS_ORGANIZATION: 'already_member',
  INVITATION_LIMIT_REACHED: 'too_many_invitations',
  INVALID_EMAIL: 'invalid_email',
}
const ACCEPT_REFUSALS: Readonly<Record<string, AcceptRefusal>> = {
  INVITATION_NOT_FOUND: 'unknown',
  YOU_ARE_NOT_THE_RECIPIENT_OF_THE_INVITATION: 'other_address',
  EMAIL_VERIFICATION_REQUIRED_BEFORE_ACCEPTING_OR_REJECTING_INVITATION: 'unconfirmed',
  ORGANIZATION_MEMBERSHIP_LIMIT_REACHED: 'too_many_members',
}

/** `asVisit` throws the failure of the database that the library hid. */
export function libraryWorkspaces(
  { db, secret: key }: Pick<IdentityOptions, 'db' | 'secret'>,
  api: LibraryCalls,
  asVisit: <T>(act: () => Promise<T>) => Promise<T>,
): WorkspaceChanges {
  const hash = secretHash(key)
  return {
    async invite(headers, { accountId, email, role }) {
      const body = { email, role, organizationId: accountId }
      try {
        return ok((await asVisit(() => api.createInvitation({ headers, body }))).id)
      } catch (error) {
        return err(refusalIn(INVITE_REFUSALS, error))
      }
    },

    async invitation(secret) {
      const { id, status, expiresAt } = identityInvitation
      const isOpen = and(eq(id, hash('invitation', 'id', secret)), eq(status, 'pending'), gt(expiresAt, new Date()))
      const [row] = await db.select().from(identityInvitation).where(isOpen)
      if (!row) return null
      const { organizationId: accountId, email, role, inviterId: invitedBy } = row
      return { accountId, email, role: role ?? 'viewer', invitedBy, expiresAt: row.expiresAt.getTime() }
    },

    async accept(headers, secret) {
      try {
        const accepted = await asVisit(() => api.acceptInvitation({ headers, body: { invitationId: secret } }))
        return accepted ? ok(accepted.invitation.organizationId as AccountId) : err('unknown')
      } catch (error) {
        return err(refusalIn(ACCEPT_REFUSALS, error))
      }
    },

    async setRole(headers, { accountId, id, role }) {
      await asVisit(() => api.updateMemberRole({ headers, body: { memberId: id, role, organizationId: accountId } }))
    },

    async remove(headers, { accountId, id, isSelf }) {
      const organizationId = accountId
      await asVisit(() =>
        isSelf
          ? api.leaveOrganization({ headers, body: { organizationId } })
          : api.removeMember({ headers, body: { memberIdOrEmail: id, organizationId } }),
      )
    },

    async show(sessionId, accountId) {
      await db.update(identitySession).set({ activeOrganizationId: accountId }).where(eq(identitySession.id, sessionId))
    },
  }
}

/** Throws an error that none of the refusals stands for. */
function refusalIn<R>(refusals: Readonly<Record<string, R>>, error: unknown): R {
  const code = isAPIError(error) ? error.body?.code : undefined
  const refusal = code === undefined ? undefined : refusals[code]
  if (refusal === undefined) throw error
  return refusal
}
