import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { asFailure } from '../../api/failure.ts'
import { endOtherSessions, endSession, type SessionLine, sessionsQuery } from '../../api/settings.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { failureText } from '../../ui/states.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { TimeAgo } from '../../ui/time.tsx'
import { toast } from '../../ui/toast.ts'
import { SETTINGS_WORDS as WORDS } from '../../words/settings.ts'
import { deviceWords } from './device-words.ts'

const { sessionColumns: HEADS } = WORDS

/** Where the owner is signed in, and the way to end it there. */
export function SessionsCard() {
  const sessions = useQuery(sessionsQuery)
  const { endingOthers, action } = useEnding()
  const rows = sessions.data?.sessions
  const columns: readonly Column<SessionLine>[] = [
    { id: 'device', head: HEADS.device, cell: ({ user_agent: agent }) => <Device agent={agent} /> },
    { id: 'ip', head: HEADS.ip, cell: ({ ip }) => <span className="code">{ip ?? '-'}</span> },
    { id: 'at', head: HEADS.at, cell: ({ signed_in_at: at }) => <TimeAgo at={at} /> },
    { id: 'act', head: HEADS.act, silent: true, numeric: true, cell: action },
  ]
  return (
    <Card
      title={WORDS.sessions}
      flush
      aside={
        rows && rows.length > 1 ? (
          <Button busy={endingOthers.isPending} onClick={() => endingOthers.mutate()}>
            {WORDS.endOthers}
          </Button>
        ) : null
      }
    >
      <Table
        caption={WORDS.sessionTable}
        columns={columns}
        rowKey={({ id }) => id}
        state={{
          rows,
          failure: sessions.error ? asFailure(sessions.error) : null,
          onTryAgain: () => void sessions.refetch(),
        }}
        card={(session) => (
          <div className="flex flex-wrap items-center justify-between gap-3">
            <div className="grid gap-1">
              <Device agent={session.user_agent} />
              <span className="small text-muted">
                <span className="code">{session.ip ?? '-'}</span> · <TimeAgo at={session.signed_in_at} />
              </span>
            </div>
            {action(session)}
          </div>
        )}
        empty={null}
      />
    </Card>
  )
}

function useEnding() {
  const queries = useQueryClient()
  const after = {
    onError: (error: unknown) => void toast(failureText(asFailure(error)), { bad: true }),
    onSettled: () => queries.invalidateQueries({ queryKey: sessionsQuery.queryKey }),
  }
  const ending = useMutation({ mutationFn: endSession, onSuccess: () => void toast(WORDS.sessionEnded), ...after })
  const endingOthers = useMutation({
    mutationFn: endOtherSessions,
    onSuccess: ({ ended }) => void toast(WORDS.othersEnded(ended)),
    ...after,
  })
  const action = (session: SessionLine) =>
    session.current ? (
      <Badge tone="accent">{WORDS.thisOne}</Badge>
    ) : (
      <Button
        busy={ending.isPending && ending.variables === session.id}
        onClick={() => ending.mutate(session.id)}
        aria-label={`${WORDS.endSession}: ${deviceWords(session.user_agent)}`}
      >
        {WORDS.endSession}
      </Button>
    )
  return { endingOthers, action }
}

function Device({ agent }: { agent: string | null }) {
  return (
    <span className="font-medium" title={agent ?? undefined}>
      {deviceWords(agent)}
    </span>
  )
}
