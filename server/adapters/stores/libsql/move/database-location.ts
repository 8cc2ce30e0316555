import { randomBytes } from 'node:crypto'
import { existsSync, statSync } from 'node:fs'
import { mkdir, readdir } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { MoveProblem } from '../../../../core/backup/move'
import { type CellName, MAIN_CELL } from '../../../../core/cluster/cells'
import { LEASE_MS, RENEW_MS } from '../../../../core/cluster/leases'
import { reasonOf } from '../../../../core/result'
import { LibsqlLeases } from '../cluster/lease-store'
import { LIVES, liveOwner, MOVING_URL } from '../cluster/lease-tables'
import { databaseFile } from '../driver/file/database-file'
import { lockDatabaseFile } from '../driver/file/database-file-lock'
import { shownReason } from '../driver/named-problem'
import type { HeldLease } from '../driver/raise-epoch'
import { Connection } from '../driver/worker/worker-connection'
import { OWN_THREADS, type WorkerThreads } from '../driver/worker/worker-threads'

/** The address of a database, and what is needed to open it. */
export interface DatabaseLocation {
  readonly url: string
  /** For a database server. */
  readonly authToken: string | null
  readonly threads?: WorkerThreads | undefined
}

/** A cell other than `main`. Leases and nodes are in the control database, so moving the cell keeps nodes out of that one. */
export interface CellLocation {
  readonly name: CellName
  readonly control: DatabaseLocation
}

/** A database that is open. */
export interface OpenLocation {
  readonly name: string
  readonly reader: Connection
  readonly writer: Connection
  /** The lease that keeps nodes out of a database server; null without one. */
  readonly lease: HeldLease | null
  /** Throws if another process may have taken it. */
  requireHeld(): void
  close(): Promise<void>
}

/** The address of a database without a token or password. */
export function locationName(url: string): string {
  const file = databaseFile(url)
  if (file !== null) return `file:${file}`
  const { protocol, host, pathname } = new URL(url)
  return `${protocol}//${host}${pathname === '/' ? '' : pathname}`
}

/** Whether two addresses certainly name the same database. */
export function isSameLocation(one: string, other: string): boolean {
  const withoutScheme = (url: string) => locationName(url).replace(/^(libsql|https?):/, '')
  return withoutScheme(one) === withoutScheme(other)
}

/** Opens the source database, and keeps gateways out of it. */
export async function openSourceDatabase(
  location: DatabaseLocation,
  cell: CellLocation | null = null,
): Promise<OpenLocation> {
  const file = databaseFile(location.url)
  if (file === null) return openServer(location, cell)
  if (!hasContent(file)) throw new MoveProblem(`there is no database at ${file}`)
  return openFile(location, file)
}

/** Opens the target database. Creates its folder and file if it is a file. */
export async function openTargetDatabase(location: DatabaseLocation): Promise<OpenLocation> {
  const file = databaseFile(location.url)
  if (file === null) return connected(location, null, NO_HOLD)
  const folder = dirname(file)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  if (!hasContent(file)) await refuseRemains(folder, basename(file))
  return openFile(location, file)
}

/** Reads a database without locking it. Null if its file does not exist. */
export async function lookAt<T>(
  location: DatabaseLocation,
  look: (reader: Connection) => Promise<T>,
): Promise<T | null> {
  const file = databaseFile(location.url)
  if (file !== null && !hasContent(file)) return null
  const reader = await Connection.open({ role: 'reader', ...addressOf(location, file) }, () => undefined)
  try {
    if (file === null) await requireAnswer(reader, location)
    return await look(reader)
  } finally {
    await reader.close()
  }
}

function hasContent(file: string): boolean {
  return existsSync(file) && statSync(file).size > 0
}

/** Refuses leftovers of another database, such as a log of charges, which a gateway would treat as part of the new one. */
async function refuseRemains(folder: string, file: string): Promise<void> {
  const own = ['', '.lock', '.lock-journal'].map((end) => file + end)
  const other = (await readdir(folder)).find((name) => name.startsWith(file) && !own.includes(name))
  if (other !== undefined)
    throw new MoveProblem(`${folder} has ${other}, which belongs to another database. Choose another folder`)
}

async function openFile(location: DatabaseLocation, file: string): Promise<OpenLocation> {
  const lock = await lockDatabaseFile(file).catch((error: unknown) => {
    throw new MoveProblem(reasonOf(error))
  })
  return connected(location, file, { ...NO_HOLD, release: async () => lock.release() })
}

/** What keeps other processes out of a database. */
interface Hold {
  readonly lease: HeldLease | null
  readonly requireHeld: () => void
  readonly release: () => Promise<void>
}
const NO_HOLD: Hold = { lease: null, requireHeld: () => undefined, release: async () => undefined }

function addressOf({ url, authToken, threads = OWN_THREADS }: DatabaseLocation, file: string | null) {
  const address = file === null ? url : pathToFileURL(file).href
  return { url: address, authToken, threads }
}

async function connected(location: DatabaseLocation, file: string | null, hold: Hold): Promise<OpenLocation> {
  const connections: Connection[] = []
  const close = async () => {
    for (const connection of connections) await connection.close()
    await hold.release()
  }
  const connect = async (role: 'reader' | 'writer') => {
    const connection = await Connection.open({ role, ...addressOf(location, file) }, () => undefined)
    connections.push(connection)
    return connection
  }
  try {
    const writer = await connect('writer')
    const reader = await connect('reader')
    if (file === null) await requireAnswer(reader, location)
    const { lease, requireHeld } = hold
    return { name: locationName(location.url), reader, writer, lease, requireHeld, close }
  } catch (error) {
    await close()
    throw error
  }
}

async function requireAnswer(reader: Connection, { url }: DatabaseLocation): Promise<void> {
  await reader.rows('SELECT 1').catch((error: unknown) => {
    throw new MoveProblem(`${locationName(url)} does not answer: ${shownReason(error)} Check the address and its token`)
  })
}

/** The lease of `main` protects a database server: no node can take it meanwhile, and without it no node starts. */
async function openServer(location: DatabaseLocation, cell: CellLocation | null): Promise<OpenLocation> {
  const control = cell?.control ?? location
  await refuseNodes(control)
  const leases = new LibsqlLeases(control)
  try {
    const hold = await holdLease(leases, locationName(control.url))
    // The lease is not in the cell's own database, which therefore cannot assert it.
    return await connected(location, null, cell ? { ...hold, lease: null } : hold)
  } catch (error) {
    await leases.close()
    throw error
  }
}

/** Throws if live nodes use a database server. */
export async function refuseNodes(location: DatabaseLocation): Promise<void> {
  const user = await lookAt(location, async (reader) => {
    const rows = (sql: string) => reader.rows(sql)
    const [known] = await rows("SELECT 1 FROM sqlite_master WHERE name = 'leases'")
    if (!known) throw new MoveProblem(`${locationName(location.url)} has no data of this version of the gateway`)
    const [live] = await rows(`SELECT url FROM nodes WHERE ${LIVES} LIMIT 1`)
    return (await liveOwner(rows)) ?? (live ? String(live[0]) : null)
  })
  if (user === null) return
  throw new MoveProblem(
    `${locationName(location.url)} is in use by ${user}. Stop all nodes, wait ${LEASE_MS / 1000} seconds and run this again`,
  )
}

async function holdLease(leases: LibsqlLeases, name: string): Promise<Hold> {
  const id = `move_${randomBytes(8).toString('hex')}`
  const term = await leases.take(MAIN_CELL, { id, url: MOVING_URL })
  if (term === null) throw new MoveProblem(`${name} is in use by another process that has just started`)
  const lease = { cell: MAIN_CELL, term }
  let isLost = false
  const renewal = setInterval(() => {
    leases.renew(id, [lease]).then(
      (held) => {
        isLost ||= held.size === 0
      },
      // The next try may succeed. A node that takes the lease raises the epoch, which the end of the move asserts.
      () => undefined,
    )
  }, RENEW_MS)
  return {
    lease: { nodeId: id, term },
    requireHeld() {
      if (isLost) throw new MoveProblem(`another process has taken ${name}; nothing in it was changed`)
    },
    async release() {
      clearInterval(renewal)
      await leases.release(id, lease).catch(() => undefined)
      await leases.close()
    },
  }
}
