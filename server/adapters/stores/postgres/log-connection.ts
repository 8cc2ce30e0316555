import { Client } from 'pg'
import { reasonOf } from '../../../core/result'

/** How long a statement may take. A call waits longer for its charge. */
const STATEMENT_MS = 5_000
const CONNECT_MS = 3_000
const OLDEST_VERSION = 14

/** What a server promises, and which one it is. */
export interface ServerFacts {
  readonly system: string
  /** Another one after each promotion of a replica. */
  readonly timeline: string
  /** Whether a commit waits for another server. */
  readonly isReplicated: boolean
  /** Whether its commits are on its disk. */
  readonly isSynced: boolean
}

export const OTHER_SERVER = 'LOG_URL leads to another PostgreSQL than before: its system identifier differs'

/** This LOG_URL cannot be used. */
export class UnusableLog extends Error {}

const SETTINGS = `SELECT set_config('statement_timeout', '0', false),
  set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN 'on'
    ELSE current_setting('synchronous_commit') END, false)`
const FACTS = `SELECT pg_backend_pid() AS pid, current_setting('server_version_num')::int / 10000 AS version,
  pg_is_in_recovery() AS is_replica, current_setting('statement_timeout') AS timeout,
  current_setting('synchronous_commit') AS commit, current_setting('synchronous_standby_names') AS standbys,
  current_setting('fsync') AS fsync, (SELECT system_identifier FROM pg_control_system())::text AS system`
/** A replica has no position to write at. */
const TIMELINE = 'SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AS timeline'

/**
 * One connection, which is never opened again by itself: after a failure the outcome of its statement is unknown, and it is closed. Statements
 * run one at a time, each in a transaction of its own.
 */
export class LogConnection {
  private readonly client: Client
  private warning: string | null = null
  private closed = false
  facts!: ServerFacts

  private constructor(url: string) {
    this.client = new Client({
      connectionString: url,
      connectionTimeoutMillis: CONNECT_MS,
      keepAlive: true,
      application_name: 'gateway log',
    })
    this.client.on('notice', ({ severity, message }) => {
      if (severity === 'WARNING') this.warning = message ?? 'a warning'
    })
    this.client.on('error', () => this.destroy())
    this.client.on('end', () => this.destroy())
  }

  /** Connects, sets the session and reads it back. Throws `UnusableLog` for a server that can never do. */
  static async open(url: string): Promise<LogConnection> {
    const connection = new LogConnection(url)
    try {
      await connection.client.connect()
      connection.facts = await connection.prepare()
      return connection
    } catch (error) {
      connection.destroy()
      throw error
    }
  }

  get isOpen(): boolean {
    return !this.closed
  }

  /** The rows. Rejects if the server gives a warning, too: a commit that did not wait for its replica succeeds with one. */
  async rows<Row extends object>(sql: string, values: readonly unknown[] = [], maxMs = STATEMENT_MS): Promise<Row[]> {
    if (this.closed) throw new Error('the connection is closed')
    this.warning = null
    const timer = setTimeout(() => this.destroy(), maxMs)
    try {
      const name = values.length > 0 ? { name: Bun.hash(sql).toString(36) } : {}
      const { rows } = await this.client.query<Row>({ ...name, text: sql, values: [...values] })
      if (this.warning !== null) throw new Error(`the server warned: ${this.warning}`)
      return rows
    } catch (error) {
      throw this.closed ? new Error(`no answer: ${reasonOf(error)}`) : error
    } finally {
      clearTimeout(timer)
    }
  }

  /** Closes the socket at once. A statement that runs may still be committed. */
  destroy(): void {
    if (this.closed) return
    this.closed = true
    const { connection } = this.client as unknown as { connection: { stream: { destroy(): void } } }
    connection.stream.destroy()
  }

  private async prepare(): Promise<ServerFacts> {
    await this.rows(SETTINGS)
    const [found] = await this.rows<Record<string, string | number | boolean>>(FACTS)
    const { pid, version, is_replica: isReplica, timeout, commit, standbys, fsync, system } = found ?? {}
    const { processID } = this.client as unknown as { processID: number }
    if (pid !== processID || timeout !== '0')
      throw new UnusableLog(
        'LOG_URL leads to a connection pooler, which may mix sessions: connect to PostgreSQL directly',
      )
    if (Number(version) < OLDEST_VERSION)
      throw new UnusableLog(`LOG_URL needs PostgreSQL ${OLDEST_VERSION} or newer; this is ${version}`)
    if (isReplica === true) throw new Error('the server is a replica, which takes no writes')
    if (commit === 'off' || commit === 'local')
      throw new UnusableLog('PostgreSQL at LOG_URL does not let a session set synchronous_commit')
    const [at] = await this.rows<{ timeline: string }>(TIMELINE)
    return {
      system: String(system),
      timeline: String(at?.timeline),
      isReplicated: standbys !== '',
      isSynced: fsync === 'on',
    }
  }
}
