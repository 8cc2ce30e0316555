import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { asFailure } from '../../api/failure.ts'
import { endOtherSessions, endSession, type SessionLine, sessionsQuery } from '../../api/settings.ts'
import { listState } from '../../api/views/list-state.ts'
import { SETTINGS_TEXT as TEXT } from '../../messages/settings.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { ConfirmDialog } from '../../ui/dialogs/dialog.tsx'
import { failureText } from '../../ui/states.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { TimeAgo } from '../../ui/time.tsx'
import { toast } from '../../ui/toast.ts'
import { AppsToo, useAppCount } from './apps-too.tsx'
import { deviceWords } from './device-words.ts'

const { sessionColumns: HEADS } = TEXT

/** Where the owner is signed in, and the way to end it there. */
export function SessionsCard() {
  const sessions = useQuery(sessionsQuery)
  const { endingOthers, action } = useEnding()
  const apps = useAppCount()
  const [asking, setAsking] = useState(false)
  const rows = sessions.data?.sessions
  const columns: readonly Column<SessionLine>[] = [
    { id: 'device', head: HEADS.device, cell: ({ user_agent: agent }) => <Device agent={agent} /> },
    { id: 'ip', head: HEADS.ip, cell: ({ ip }) => <span className="code">{ip ?? '-'}</span> },
    { id: 'at', head: HEADS.at, cell: ({ signed_in_at: at }) => <TimeAgo at={at} /> },
    { id: 'act', head: HEADS.act, silent: true, numeric: true, cell: action },
  ]
  return (
    <Card
      title={TEXT.sessions}
      flush
      aside={
        rows && rows.length > 1 ? (
          <Button
            busy={endingOthers.isPending}
            onClick={() => (apps > 0 ? setAsking(true) : endingOthers.mutate({ keepsApps: true }))}
          >
            {TEXT.endOthers}
          </Button>
        ) : null
      }
    >
      <Table
        caption={TEXT.sessionTable}
        columns={columns}
        rowKey={({ id }) => id}
        state={{
          rows,
          ...listState(sessions),
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
      {asking && (
        <EndOthers
          apps={apps}
          busy={endingOthers.isPending}
          onKeep={() => setAsking(false)}
          onAct={(keepsApps) => endingOthers.mutate({ keepsApps }, { onSettled: () => setAsking(false) })}
        />
      )}
    </Card>
  )
}

/** Asked where apps have access: they would outlive the sessions that let them in. */
function EndOthers({ apps, busy, onKeep, onAct }: EndOthersProps) {
  const [appsToo, setAppsToo] = useState(true)
  return (
    <ConfirmDialog
      title={TEXT.endOthers}
      text={TEXT.endOthersText}
      keep={TEXT.keepSessions}
      act={TEXT.endOthers}
      busy={busy}
      onKeep={onKeep}
      onAct={() => onAct(!appsToo)}
    >
      <AppsToo count={apps} checked={appsToo} onChange={setAppsToo} />
    </ConfirmDialog>
  )
}

type EndOthersProps = { apps: number; busy: boolean; onKeep: () => void; onAct: (keepsApps: boolean) => void }

function useEnding() {
  const queries = useQueryClient()
  const after = {
    onError: (error: unknown) => void toast(failureText(asFailure(error)), { bad: true }),
    onSettled: async () => {
      await queries.invalidateQueries({ queryKey: sessionsQuery.queryKey })
      await queries.invalidateQueries({ queryKey: ['apps'] })
    },
  }
  const ending = useMutation({ mutationFn: endSession, onSuccess: () => void toast(TEXT.sessionEnded), ...after })
  const endingOthers = useMutation({
    mutationFn: ({ keepsApps }: { keepsApps: boolean }) => endOtherSessions(keepsApps),
    onSuccess: ({ ended, apps_disconnected: apps }) => void toast(TEXT.othersEnded(ended, apps)),
    ...after,
  })
  const action = (session: SessionLine) =>
    session.current ? (
      <Badge tone="accent">{TEXT.thisOne}</Badge>
    ) : (
      <Button
        busy={ending.isPending && ending.variables === session.id}
        onClick={() => ending.mutate(session.id)}
        aria-label={`${TEXT.endSession}: ${deviceWords(session.user_agent)}`}
      >
        {TEXT.endSession}
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
