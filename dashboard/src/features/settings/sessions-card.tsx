import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { appsQuery, KEEPS_NOTHING, type KeptAccess } from '../../api/account/apps.ts'
import {
  endAllSessions,
  endOtherSessions,
  endSession,
  type SessionLine,
  sessionsQuery,
} from '../../api/account/settings.ts'
import { failureFrom, toApiFailure } from '../../api/client/failure.ts'
import { listState } from '../../api/client/list-state.ts'
import { SETTINGS_TEXT as TEXT } from '../../messages/settings.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { ConfirmAction } from '../../ui/dialogs/confirm-action.tsx'
import { ConfirmDialog } from '../../ui/dialogs/dialog.tsx'

import { toast } from '../../ui/feedback/toast.ts'
import { TimeAgo } from '../../ui/format/time.tsx'
import { Card } from '../../ui/layout/card.tsx'
import { type Column, Table } from '../../ui/layout/table.tsx'
import { deviceName } from './device-name.ts'
import { DisconnectAppsField } from './disconnect-apps-field.tsx'

const { sessionColumns: HEADS } = TEXT

/** The owner's sessions, each with a button to sign it out. */
export function SessionsCard() {
  const sessions = useQuery(sessionsQuery)
  const { signingOutOthers, action } = useSessionActions()
  const apps = useQuery(appsQuery).data?.apps.length ?? 0
  const [asking, setAsking] = useState(false)
  const rows = sessions.data?.sessions
  const columns: readonly Column<SessionLine>[] = [
    { id: 'device', head: HEADS.device, cell: (session) => <Device session={session} /> },
    { id: 'ip', head: HEADS.ip, cell: ({ ip }) => <span className="code">{ip ?? '-'}</span> },
    { id: 'at', head: HEADS.at, cell: ({ signed_in_at: at }) => <TimeAgo at={at} /> },
    { id: 'seen', head: HEADS.seen, cell: ({ last_seen_at: at }) => (at === null ? '-' : <TimeAgo at={at} />) },
    { id: 'act', head: HEADS.act, silent: true, numeric: true, cell: action },
  ]
  return (
    <Card
      title={TEXT.sessions}
      flush
      aside={
        <div className="flex flex-wrap gap-2">
          {rows && rows.length > 1 && (
            <Button
              busy={signingOutOthers.isPending}
              onClick={() => (apps > 0 ? setAsking(true) : signingOutOthers.mutate(KEEPS_NOTHING))}
            >
              {TEXT.endOthers}
            </Button>
          )}
          <SignOutEverywhere />
        </div>
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
        empty={null}
      />
      {asking && (
        <SignOutOthersDialog
          busy={signingOutOthers.isPending}
          onCancel={() => setAsking(false)}
          onConfirm={(kept) => signingOutOthers.mutate(kept, { onSettled: () => setAsking(false) })}
        />
      )}
    </Card>
  )
}

/** Ends this session as well, and disconnects every app. */
function SignOutEverywhere() {
  const [asking, setAsking] = useState(false)
  const ending = useMutation({ mutationFn: endAllSessions, onSuccess: () => window.location.assign('/sign-in') })
  return (
    <>
      <Button tone="warning" onClick={() => setAsking(true)}>
        {TEXT.endAll}
      </Button>
      {asking && (
        <ConfirmAction
          title={TEXT.endAll}
          text={TEXT.endAllText}
          cancelLabel={TEXT.keepSessions}
          confirmLabel={TEXT.endAll}
          action={ending}
          failure={failureFrom(ending)}
          onClose={() => setAsking(false)}
        />
      )}
    </>
  )
}

/** Offers to disconnect apps too, because they would outlive the sessions that allowed them. */
function SignOutOthersDialog({ busy, onCancel, onConfirm }: SignOutOthersProps) {
  const [kept, setKept] = useState(KEEPS_NOTHING)
  return (
    <ConfirmDialog
      title={TEXT.endOthers}
      text={TEXT.endOthersText}
      cancelLabel={TEXT.keepSessions}
      confirmLabel={TEXT.endOthers}
      busy={busy}
      onCancel={onCancel}
      onConfirm={() => onConfirm(kept)}
    >
      <DisconnectAppsField kept={kept} onChange={setKept} />
    </ConfirmDialog>
  )
}

type SignOutOthersProps = { busy: boolean; onCancel: () => void; onConfirm: (kept: KeptAccess) => void }

function useSessionActions() {
  const queries = useQueryClient()
  const after = {
    onError: (error: unknown) => void toast(toApiFailure(error).message, { bad: true }),
    onSettled: async () => {
      await queries.invalidateQueries({ queryKey: sessionsQuery.queryKey })
      await queries.invalidateQueries({ queryKey: ['apps'] })
    },
  }
  const ending = useMutation({ mutationFn: endSession, onSuccess: () => void toast(TEXT.sessionEnded), ...after })
  const signingOutOthers = useMutation({
    mutationFn: endOtherSessions,
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
        aria-label={`${TEXT.endSession}: ${deviceName(session.user_agent)}`}
      >
        {TEXT.endSession}
      </Button>
    )
  return { signingOutOthers, action }
}

function Device({ session: { user_agent: agent, second_factor: withFactor } }: { session: SessionLine }) {
  return (
    <span className="flex flex-wrap items-center gap-2">
      <span className="font-medium" title={agent ?? undefined}>
        {deviceName(agent)}
      </span>
      {withFactor && <Badge tone="ok">{TEXT.withSecondFactor}</Badge>}
    </span>
  )
}
