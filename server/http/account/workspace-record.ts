import type { Static } from '@sinclair/typebox'
import type { Invitation, Member } from '../../core/accounts/members'
import { GIVEN_ROLES, ROLES } from '../../core/accounts/roles'
import { isoTime } from '../../core/clock'
import { BUDGET_WINDOWS, BUDGETS } from '../keys/budget-record'
import { form, identifier, instant, line, listOf, oneOf, orNull, record, text, yesOrNo } from '../openapi/json-schema'
import { EMAIL } from './settings-record'

const Role = oneOf(ROLES, 'The role.')
const GivenRole = oneOf(
  GIVEN_ROLES,
  '`admin`: everything but ownership and closing. `developer`: keys, apps and usage of their own. `billing`: money, usage and receipts. `viewer`: reads.',
)

export const WorkspaceList = record('The workspaces of the user.', {
  workspaces: listOf(
    record('A workspace.', {
      id: identifier('acct', 'Id of the account.'),
      name: text('Its name.'),
      role: Role,
      shown: yesOrNo('Whether this session shows it.'),
    }),
    "The user's own first.",
  ),
})
export type WorkspaceList = Static<typeof WorkspaceList>

export const ShownWorkspace = record('The result.', { id: identifier('acct', 'The workspace that the session shows.') })
export type ShownWorkspace = Static<typeof ShownWorkspace>

export const WorkspaceName = form('The name of a workspace.', { name: line('The name.', 64) })
export type WorkspaceName = Static<typeof WorkspaceName>

const MEMBER = {
  id: text('Id of the membership.'),
  email: text('The email address.'),
  name: text('The name.'),
  role: Role,
  joined_at: instant('When the member joined.'),
  you: yesOrNo('Whether it is the caller.'),
}
const MemberRecord = record('A member.', MEMBER)

const Budgeted = record('A member, with what their keys and apps may spend.', {
  ...MEMBER,
  budgets: BUDGETS,
  budget_windows: BUDGET_WINDOWS,
})

export const MemberList = record('The members of the workspace.', { members: listOf(Budgeted, 'As they joined.') })
export type MemberList = Static<typeof MemberList>
export const OneMember = record('A member.', { member: MemberRecord })
export type OneMember = Static<typeof OneMember>

export const MemberBudgets = form('What a member may spend, over all keys and apps of theirs.', { budgets: BUDGETS })
export type MemberBudgets = Static<typeof MemberBudgets>

export const NewHolder = form('Whose the key is from now on.', {
  to: orNull(text('The id of a member.', { maxLength: 128 }), 'a key of the workspace'),
})

export const NewRole = form('The new role.', { role: GivenRole })

export const Removal = form(
  'What becomes of the keys that the member made.',
  {
    keys: oneOf(['disable', 'give'], '`disable`, the default: they are disabled. `give`: they go on as those of `to`.'),
    to: orNull(text('The id of another member.', { maxLength: 128 }), 'keys of the workspace'),
  },
  ['keys', 'to'],
)

const InvitationRecord = record('An invitation that was not answered yet.', {
  id: text('Its id, which accepts nothing.'),
  email: text('The address that may accept it.'),
  role: Role,
  invited_by: orNull(text('The email address of who sent it.')),
  created_at: instant('When it was sent.'),
  expires_at: instant('When it ends.'),
})

export const InvitationList = record('The open invitations.', {
  invitations: listOf(InvitationRecord, 'Newest first.'),
})
export type InvitationList = Static<typeof InvitationList>

export const NewInvitation = form('An invitation.', { email: EMAIL, role: GivenRole })

export const SentInvitation = record('The result.', {
  email: text('The address.'),
  role: Role,
  link: orNull(text('The link to pass on, shown once.'), 'it was sent by email'),
})
export type SentInvitation = Static<typeof SentInvitation>

export const CanceledInvitation = record('The canceled invitation.', { id: text('Its id.') })
export type CanceledInvitation = Static<typeof CanceledInvitation>

export const InvitationToken = form('The secret of an invitation.', {
  token: text('What follows # in the link.', { minLength: 1, maxLength: 128 }),
})

export const ReadInvitation = record('What the link invites to.', {
  workspace: text('The name of the workspace.'),
  email: text('The address that may accept it.'),
  role: Role,
  invited_by: orNull(text('The name of who sent it.')),
  expires_at: instant('When it ends.'),
})
export type ReadInvitation = Static<typeof ReadInvitation>

export function memberRecord({ id, email, name, role, joinedAt, userId }: Member, self: string) {
  return { id, email, name, role, joined_at: isoTime(joinedAt), you: userId === self }
}

export function invitationRecord({ id, email, role, createdAt, expiresAt }: Invitation, invitedBy: string | null) {
  return {
    id,
    email,
    role,
    invited_by: invitedBy,
    created_at: isoTime(createdAt),
    expires_at: isoTime(expiresAt),
  }
}
