import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Client, createClient, type InValue } from '@libsql/client'
import { TEST_PEOPLE } from './people'

/** The sandbox network's tables, in a separate file: nothing in it belongs to the gateway's ledger. */
const SCHEMA: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS users (
    id TEXT PRIMARY KEY, username TEXT NOT NULL UNIQUE COLLATE NOCASE, name TEXT NOT NULL, description TEXT NOT NULL,
    protected INTEGER NOT NULL, takes_messages INTEGER NOT NULL, created_at INTEGER NOT NULL)`,
  `CREATE TABLE IF NOT EXISTS posts (
    id TEXT PRIMARY KEY, author TEXT NOT NULL REFERENCES users (id), text TEXT NOT NULL, reply_to TEXT, quote_of TEXT,
    at INTEGER NOT NULL)`,
  `CREATE TABLE IF NOT EXISTS likes (
    user TEXT NOT NULL, post TEXT NOT NULL REFERENCES posts (id) ON DELETE CASCADE, at INTEGER NOT NULL,
    PRIMARY KEY (user, post))`,
  'CREATE TABLE IF NOT EXISTS follows (user TEXT NOT NULL, target TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (user, target))',
  `CREATE TABLE IF NOT EXISTS messages (
    id TEXT PRIMARY KEY, conversation TEXT NOT NULL, sender TEXT NOT NULL, recipient TEXT NOT NULL, text TEXT NOT NULL,
    at INTEGER NOT NULL)`,
  'CREATE INDEX IF NOT EXISTS messages_sender ON messages (sender, id)',
  'CREATE INDEX IF NOT EXISTS messages_recipient ON messages (recipient, id)',
  `CREATE TABLE IF NOT EXISTS grants (
    id INTEGER PRIMARY KEY, user TEXT NOT NULL, scopes TEXT NOT NULL, at INTEGER NOT NULL, revoked_at INTEGER)`,
  `CREATE TABLE IF NOT EXISTS codes (
    hash TEXT PRIMARY KEY, user TEXT NOT NULL, scopes TEXT NOT NULL, redirect_uri TEXT NOT NULL, challenge TEXT NOT NULL,
    expires_at INTEGER NOT NULL, grant_id INTEGER)`,
  `CREATE TABLE IF NOT EXISTS tokens (
    hash TEXT PRIMARY KEY, grant_id INTEGER NOT NULL REFERENCES grants (id), kind TEXT NOT NULL, expires_at INTEGER,
    used_at INTEGER)`,
  `CREATE TABLE IF NOT EXISTS faults (
    user TEXT PRIMARY KEY, fault TEXT NOT NULL, remaining INTEGER NOT NULL)`,
]

type Row = Readonly<Record<string, InValue>>

/** One connection to the sandbox's file, opened when it is first used. */
export class Tables {
  private readonly path: string
  private readonly now: () => number
  private opened: Promise<Client> | null = null
  private lastId = 0

  constructor(path: string, now: () => number) {
    this.path = path
    this.now = now
  }

  async all(sql: string, ...args: InValue[]): Promise<readonly Row[]> {
    const client = await this.client()
    return (await client.execute({ sql, args })).rows as unknown as readonly Row[]
  }

  async first(sql: string, ...args: InValue[]): Promise<Row | null> {
    return (await this.all(sql, ...args))[0] ?? null
  }

  /** How many rows it changed. */
  async change(sql: string, ...args: InValue[]): Promise<number> {
    const client = await this.client()
    return (await client.execute({ sql, args })).rowsAffected
  }

  /** Numeric, at most 19 digits, in order of creation, like the real network's. */
  newId(): string {
    this.lastId = Math.max(this.lastId + 1, this.now() * 1000)
    return String(this.lastId)
  }

  async close(): Promise<void> {
    const client = await this.opened
    client?.close()
  }

  private client(): Promise<Client> {
    this.opened ??= this.open()
    return this.opened
  }

  private async open(): Promise<Client> {
    mkdirSync(dirname(this.path), { recursive: true })
    const client = createClient({ url: pathToFileURL(this.path).href, concurrency: 1 })
    await client.execute('PRAGMA journal_mode = WAL')
    await client.execute('PRAGMA synchronous = NORMAL')
    await client.batch([...SCHEMA], 'write')
    await client.batch(
      TEST_PEOPLE.map(({ id, username, name, description, isProtected, takesMessages }) => ({
        sql: 'INSERT INTO users VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
        args: [id, username, name, description, isProtected ? 1 : 0, takesMessages ? 1 : 0, this.now()],
      })),
      'write',
    )
    const newest = await client.execute(
      'SELECT max(id) AS id FROM (SELECT id FROM posts UNION ALL SELECT id FROM messages)',
    )
    this.lastId = Number(newest.rows[0]?.['id'] ?? 0)
    return client
  }
}
