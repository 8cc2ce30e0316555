import { queryOptions } from '@tanstack/react-query'
import type { GIVEN_ROLES } from '../../../../server/core/accounts/roles.ts'
import type { InvitationList, MemberList } from '../../../../server/http/account/workspace-record.ts'
import { api, unwrap } from '../client/client.ts'

export type Member = MemberList['members'][number]
export type Invitation = InvitationList['invitations'][number]
export type GivenRole = (typeof GIVEN_ROLES)[number]

export const workspacesQuery = queryOptions({
  queryKey: ['workspaces'],
  queryFn: () => unwrap(api.workspaces.get()),
})

export const membersQuery = queryOptions({ queryKey: ['members'], queryFn: () => unwrap(api.members.get()) })

export const invitationsQuery = queryOptions({
  queryKey: ['invitations'],
  queryFn: () => unwrap(api.invitations.get()),
})

export const showWorkspace = (id: string) => unwrap(api.workspaces({ id }).show.post())

export const renameWorkspace = (name: string) => unwrap(api.workspaces.shown.patch({ name }))

export const inviteMember = (email: string, role: GivenRole) => unwrap(api.invitations.post({ email, role }))

export const cancelInvitation = (id: string) => unwrap(api.invitations({ id }).delete())

export const changeRole = (id: string, role: GivenRole) => unwrap(api.members({ id }).patch({ role }))

/** `heir`: the member who gets the keys; null for the workspace; absent: they are disabled. */
export const removeMember = (id: string, heir?: string | null) =>
  unwrap(api.members({ id }).remove.post(heir === undefined ? { keys: 'disable' } : { keys: 'give', to: heir }))

/** `to`: a member, or null for the workspace. */
export const giveKey = (id: string, to: string | null) => unwrap(api.keys({ id }).give.post({ to }))

export const handOver = (id: string) => unwrap(api.members({ id })['hand-over'].post({}))

export const readInvitation = (token: string) => unwrap(api.invitations.read.post({ token }))

export const acceptInvitation = (token: string) => unwrap(api.invitations.accept.post({ token }))
