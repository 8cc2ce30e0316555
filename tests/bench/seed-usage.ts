import { join } from 'node:path'
import type { Client } from '@libsql/client'
import { openFile } from '../support/databases/database-file'
import { KEYS_EACH, type SeededOwner } from './seed-core'
import type { Workshop } from './workshop'

const ACCOUNTS = 1000
const DAYS = 90
/** Has no divisor in common with what parts the accounts and the operations, so that each has calls of all. */
const MODELS = 7
const DAY_MS = 86_400_000
/** Rows of one statement, so that progress can be told. */
const STEP = 1_000_000

/** Someone whose pages are asked for. */
export interface Reader extends SeededOwner {
  readonly name: 'large' | 'small'
}

export interface SeededUsage {
  readonly readers: readonly Reader[]
  readonly rows: number
  readonly seconds: number
  /** When the newest row is of. */
  readonly now: number
}

/**
 * A database of `rows` calls over 90 days and 1000 accounts with their entries and rollups, a tenth of them of one account, a
 * third of them of one of seven models.
 * Two accounts have owners who signed up and keys that work; the rest is made by SQL, with every safety off, and with the
 * indexes built at the end.
 */
export async function seedUsage(workshop: Workshop, folder: string, rows: number): Promise<SeededUsage> {
  const begun = performance.now()
  const owners: SeededOwner[] = JSON.parse(await workshop.once('seed-core.ts', ['owners', folder, '2']))
  const now = Date.now()
  const client = openFile(join(folder, 'gateway.db'))
  for (const pragma of ['journal_mode = OFF', 'synchronous = OFF', 'foreign_keys = OFF', 'cache_size = -2000000'])
    await client.execute(`PRAGMA ${pragma}`)
  await fillNames(client, owners)
  const indexes = await dropIndexes(client)
  await fillRequests(client, rows, now)
  await client.batch([ROLLUP, ENTRIES, 'DROP TABLE seed_accounts', 'DROP TABLE seed_keys'], 'write')
  for (const sql of indexes) await client.execute(sql)
  await client.execute('PRAGMA journal_mode = WAL')
  client.close()
  const names = ['large', 'small'] as const
  const readers = owners.map((owner, i) => ({ ...owner, name: names[i] ?? 'small' }))
  return { readers, rows, seconds: (performance.now() - begun) / 1000, now }
}

/** The ids of all accounts and keys by number: the owners first, then made-up ones. */
async function fillNames(client: Client, owners: readonly SeededOwner[]): Promise<void> {
  const count = (to: number) => `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${to} - 1)`
  await client.batch(
    [
      'CREATE TABLE seed_accounts (n INTEGER PRIMARY KEY, id TEXT)',
      'CREATE TABLE seed_keys (n INTEGER PRIMARY KEY, id TEXT)',
      `${count(ACCOUNTS)} INSERT INTO seed_accounts SELECT i, 'acct_' || printf('%032x', i + 1000) FROM n`,
      `${count(ACCOUNTS * KEYS_EACH)} INSERT INTO seed_keys SELECT i, 'key_' || printf('%032x', i + 1000) FROM n`,
      ...owners.flatMap(({ accountId, keys }, n) => [
        { sql: 'UPDATE seed_accounts SET id = ? WHERE n = ?', args: [accountId, n] },
        ...keys.map(({ id }, k) => ({ sql: 'UPDATE seed_keys SET id = ? WHERE n = ?', args: [id, n * KEYS_EACH + k] })),
      ]),
      `INSERT INTO accounts (id, user_id, credit, created_at)
        SELECT id, 'user-' || n, 2000000, 1790000000000 FROM seed_accounts WHERE n >= ${owners.length}`,
    ],
    'write',
  )
}

/** Indexes are built faster over a full table than row by row. Gives the statements that bring them back. */
async function dropIndexes(client: Client): Promise<string[]> {
  const { rows } = await client.execute(
    `SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name IN ('requests', 'entries') AND sql IS NOT NULL`,
  )
  for (const row of rows) await client.execute(`DROP INDEX ${row['name']}`)
  return rows.map((row) => String(row['sql']))
}

/** Every choice is arithmetic on the row's number, so that each run makes the same database. */
async function fillRequests(client: Client, rows: number, now: number): Promise<void> {
  const first = now - DAYS * DAY_MS
  for (let from = 0; from < rows; from += STEP) {
    await client.execute(`
      WITH RECURSIVE n(i) AS (SELECT ${from} UNION ALL SELECT i + 1 FROM n WHERE i < ${Math.min(from + STEP, rows) - 1}),
      calls AS (SELECT i,
        ${first} + CAST(i * ${(DAYS * DAY_MS) / rows} AS INTEGER) AS at,
        CASE WHEN i % 10 = 0 THEN 0 ELSE 1 + i * 2654435761 % 999983 % ${ACCOUNTS - 1} END AS account,
        i * 40503 % 65521 % ${KEYS_EACH} AS key,
        i % 3 = 1 AS ofModel,
        CASE i % 53 WHEN 7 THEN 502 WHEN 11 THEN 400 ELSE 200 END AS status FROM n)
      INSERT INTO requests (id, client_request_id, account_id, key_id, operation, at, status, code, latency_ms, address,
        input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost, price_version, unit_price, units, model, usage_source)
      SELECT printf('req_%012x70008%015x', at, i), NULL, a.id, k.id, CASE i % 3 WHEN 0 THEN 'llm-context' WHEN 1 THEN 'chat-completions' ELSE 'image-search' END, at, status,
        CASE status WHEN 502 THEN 'upstream_error' WHEN 400 THEN 'invalid_parameter' END, 40 + i % 200, '203.0.113.7',
        iif(ofModel, 1200, 0), iif(ofModel, 300, 0), iif(ofModel, 400, 0), iif(ofModel, 50, 0),
        iif(status = 200, 5000, 0), iif(status = 200, '2.0.0', NULL), iif(status = 200, 5000, NULL),
        iif(status = 200, 1, NULL), iif(ofModel, 'model-' || (i % ${MODELS}), NULL), iif(ofModel AND status = 200, 'exact', NULL)
      FROM calls JOIN seed_accounts a ON a.n = account JOIN seed_keys k ON k.n = account * ${KEYS_EACH} + key`)
    process.stderr.write(`seeded ${Math.min(from + STEP, rows).toLocaleString('en')} calls\n`)
  }
}

const ROLLUP = `INSERT INTO usage_rollup (account_id, slot, key_id, operation, status, model, requests, input_tokens,
    output_tokens, cache_read_tokens, cache_write_tokens, charged)
  SELECT account_id, at / 900000 AS slot, key_id, operation, status, coalesce(model, '') AS called, count(*), sum(input_tokens),
    sum(output_tokens), sum(cache_read_tokens), sum(cache_write_tokens), sum(cost) FROM requests
  GROUP BY account_id, slot, key_id, operation, status, called`

const ENTRIES = `INSERT INTO entries (transaction_id, kind, account_id, debit, credit, amount, at, request_id, description)
  SELECT 'txn_' || substr(id, 5), 'charge', account_id, account_id || '/credit', 'house/revenue', cost, at, id, operation
  FROM requests WHERE cost > 0`
