import type { Static } from '@sinclair/typebox'
import type { BackupReading } from '../../core/backup/backups'
import { isoTime } from '../../core/clock'
import type { RecentReading } from '../../core/telemetry/recent-calls'
import type { JournalState } from '../../core/telemetry/telemetry'
import { instant, listOf, orNull, record, text, whole, yesOrNo } from '../openapi/json-schema'

const count = (description: string) => whole(description, { minimum: 0 })

/** How the gateway does: its calls of the last five minutes, and how far the disk and the tables are behind. */
export const Health = record('The health of the gateway.', {
  ready: yesOrNo('Whether calls can be served and charged.'),
  problems: listOf(
    record('A part that does not work.', { part: text('Its name.'), reason: text('What is wrong.') }),
    'Why not; empty if they can.',
  ),
  seconds: count('The time that the counts cover.'),
  calls: count('Calls that ended.'),
  codes: listOf(
    record('Refusals and failures of one code.', { code: text('The error code.'), calls: count('How many.') }),
    'The most frequent first.',
  ),
  upstreams: listOf(
    record('Requests to one upstream.', {
      name: text('Its name.'),
      requests: count('How many.'),
      failures: count('How many of them failed.'),
      average_ms: count('Their average duration in milliseconds.'),
    }),
    'The busiest first.',
  ),
  commit_wait_ms: count('How long the oldest charge has waited for the disk.'),
  tables_behind_ms: count('How far the tables are behind the log of charges.'),
  tables_behind_bytes: count('How many bytes of it they do not have yet.'),
  tables_reject: yesOrNo('Whether the database rejects writes.'),
  backups: record('The copies of the data.', {
    scheduled: yesOrNo('Whether copies are made by themselves.'),
    newest_at: orNull(instant('When the newest copy was taken that is known.'), 'none'),
    failing: yesOrNo('Whether the last backup failed.'),
  }),
})
export type Health = Static<typeof Health>

/** Whether the gateway can serve calls, with the reason of each part that fails. */
export interface ReadyState {
  readonly status: string
  readonly problems: Readonly<Record<string, string>>
}

interface HealthState {
  readonly state: ReadyState
  readonly backups: BackupReading & { readonly isScheduled: boolean }
}

export function healthRecord(recent: RecentReading, journal: JournalState, { state, backups }: HealthState): Health {
  return {
    ready: state.status === 'ready',
    problems: Object.entries(state.problems).map(([part, reason]) => ({ part, reason })),
    seconds: recent.seconds,
    calls: recent.calls,
    codes: recent.codes,
    upstreams: recent.upstreams.map(({ ms, ...upstream }) => ({ ...upstream, average_ms: Math.round(ms) })),
    commit_wait_ms: Math.round(journal.waitingMs),
    tables_behind_ms: Math.round(journal.unappliedMs),
    tables_behind_bytes: journal.unappliedBytes,
    tables_reject: journal.isBehind,
    backups: {
      scheduled: backups.isScheduled,
      newest_at: backups.newestAt === null ? null : isoTime(backups.newestAt),
      failing: backups.isFailing,
    },
  }
}
