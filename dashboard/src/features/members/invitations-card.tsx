import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { cancelInvitation, type Invitation, invitationsQuery } from '../../api/account/workspaces.ts'
import { toApiFailure } from '../../api/client/failure.ts'
import { listState } from '../../api/client/list-state.ts'
import { MEMBER_TEXT as TEXT } from '../../messages/members.ts'
import { Button } from '../../ui/button.tsx'
import { Empty } from '../../ui/feedback/states.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { formatDay } from '../../ui/format/time.tsx'
import { Card } from '../../ui/layout/card.tsx'
import { Table } from '../../ui/layout/table.tsx'

export function InvitationsCard() {
  const queries = useQueryClient()
  const invitations = useQuery(invitationsQuery)
  const canceling = useMutation({
    mutationFn: ({ id }: Invitation) => cancelInvitation(id),
    onSuccess: () => void toast(TEXT.canceled),
    onError: (error) => void toast(toApiFailure(error).message, { bad: true }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['invitations'] }),
  })
  const { invited: heads } = TEXT
  return (
    <Card title={TEXT.invitations} flush>
      <Table
        caption={TEXT.invitationsTable}
        columns={[
          { id: 'email', head: heads.email, cell: ({ email }) => <span className="wrap-anywhere">{email}</span> },
          { id: 'role', head: heads.role, cell: ({ role }) => TEXT.roles[role] },
          {
            id: 'by',
            head: heads.by,
            cell: ({ invited_by: by }) => <span className="wrap-anywhere">{by ?? '-'}</span>,
          },
          { id: 'ends', head: heads.ends, cell: ({ expires_at: at }) => formatDay(at) },
          {
            id: 'actions',
            head: TEXT.columns.actions,
            silent: true,
            numeric: true,
            card: 'below',
            cell: (invitation) => (
              <Button
                aria-label={`${TEXT.cancelInvitation}: ${invitation.email}`}
                onClick={() => canceling.mutate(invitation)}
              >
                {TEXT.cancelInvitation}
              </Button>
            ),
          },
        ]}
        rowKey={({ id }) => id}
        textOf={({ email }) => email}
        state={{ rows: invitations.data?.invitations, ...listState(invitations) }}
        empty={<Empty>{TEXT.none}</Empty>}
      />
    </Card>
  )
}
