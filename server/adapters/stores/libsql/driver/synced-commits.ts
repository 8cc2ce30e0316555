import type { Connection } from './worker/worker-connection'

/** What SQLite's `synchronous` is where a commit is on disk before it is acknowledged. */
const FULL = 2
const NAMES = ['OFF', 'NORMAL']

interface SyncNeeds {
  readonly url: string
  /** Whether the operator promises that the server's disk has what the server acknowledges. */
  readonly isPromised: boolean
  readonly onTrouble: (what: string, reason: string) => void
}

/** Asks a database server whether a commit is on disk before it is acknowledged. Throws if it says no and the operator does not promise it. */
export async function assertSyncedCommits(
  reader: Pick<Connection, 'rows'>,
  { url, isPromised, onTrouble }: SyncNeeds,
): Promise<void> {
  if (isPromised) return
  const said = await synchronousOf(reader)
  if (said === null) {
    onTrouble('sync', 'the server does not say whether it syncs a commit before it acknowledges it')
    return
  }
  if (said >= FULL) return
  throw new Error(
    `The database at ${URL.parse(url)?.host ?? 'DATABASE_URL'} acknowledges commits before they are on disk (synchronous=${NAMES[said]}): a power failure there loses charges that were answered. Let its disk write synchronously and set DATABASE_SYNC=promised, or use a database file`,
  )
}

/** Null for a server that does not answer the question. */
async function synchronousOf(reader: Pick<Connection, 'rows'>): Promise<number | null> {
  const rows = await reader.rows('PRAGMA synchronous').catch(() => [])
  const value = Number(rows[0]?.[0] ?? Number.NaN)
  return Number.isInteger(value) ? value : null
}
