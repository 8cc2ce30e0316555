import { useQuery } from '@tanstack/react-query'
import { useMay } from '../../api/account/account.ts'
import { membersQuery } from '../../api/account/workspaces.ts'

/** Whether several people share the keys, as those see it who see all keys, and who may hold one. */
export function useTeam() {
  const seesAll = useMay('members:read')
  const members = useQuery({ ...membersQuery, enabled: seesAll }).data?.members ?? []
  const holders = members.filter(({ role }) => role !== 'billing' && role !== 'viewer')
  return { isShared: members.length > 1, mayGive: useMay('members:write') && members.length > 1, holders }
}
