import { useQuery } from '@tanstack/react-query'
import { useMay } from '../../api/account/account.ts'
import { membersQuery } from '../../api/account/workspaces.ts'

/** Whether several people share the keys, as those see it who see all keys, and whether this member may give keys to others. */
export function useTeam() {
  const seesAll = useMay('members:read')
  const members = useQuery({ ...membersQuery, enabled: seesAll }).data?.members ?? []
  const isShared = members.length > 1
  return { isShared, mayGive: useMay('members:write') && isShared }
}
