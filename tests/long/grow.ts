import { Database } from 'bun:sqlite'
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { DAY_MS } from '../../server/core/clock'
import { writeMigratedDatabase } from '../support/databases/migrated-database'

const HELP = `Usage: bun tests/long/grow.ts [--calls N] [--accounts N] [--days N] DATA_DIR

Writes N calls of N accounts over the last N days into the database of DATA_DIR, as a gateway would have left it: the calls, their entries,
balances and sums agree. Half of the calls are of the 50 busiest accounts, which are those that the database has already, if there are
some. No gateway may run on it.
`
/** Half of the calls are theirs. */
const BUSY = 50
/** Rows per transaction. */
const BATCH = 250_000
const BUSY_PAID = 100_000_000_000
const OTHERS_CREDIT = 1_000_000_000

const { values, positionals } = parseArgs({
  args: Bun.argv.slice(2),
  allowPositionals: true,
  options: {
    help: { type: 'boolean', short: 'h' },
    calls: { type: 'string', default: '1000000' },
    accounts: { type: 'string', default: '10000' },
    days: { type: 'string', default: '400' },
  },
})
const [folder] = positionals
const [calls, accounts, days] = [values.calls, values.accounts, values.days].map(Number) as [number, number, number]
if (values.help || folder === undefined || ![calls, accounts, days].every((n) => Number.isSafeInteger(n) && n > 0)) {
  process.stdout.write(HELP)
  process.exit(values.help ? 0 : 2)
}
await grow(folder)

async function grow(dataDir: string): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const file = join(dataDir, 'gateway.db')
  if (!existsSync(file)) await writeMigratedDatabase(file)
  const db = new Database(file)
  db.run('PRAGMA journal_mode = WAL')
  db.run('PRAGMA synchronous = OFF')
  db.run('PRAGMA cache_size = -500000')
  const step = (what: string, work: () => void) => {
    const began = performance.now()
    db.transaction(work)()
    process.stdout.write(`${what}: ${((performance.now() - began) / 1000).toFixed(1)} s\n`)
  }
  const span = { first: Math.floor(Date.now() / DAY_MS) * DAY_MS - days * DAY_MS, last: Date.now() - DAY_MS / 24 }
  const later = withoutRules(db)
  step(`${accounts} accounts`, () => openAccounts(db, span.first))
  for (let i = 0; i < calls; i += BATCH)
    step(`calls ${i} to ${Math.min(calls, i + BATCH)}`, () => addCalls(db, span, i, Math.min(calls, i + BATCH)))
  step('sums', () => addSums(db))
  for (const sql of later) step(sql.slice(0, 60), () => db.run(sql))
  db.run('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
}

/** Drops the triggers, and the indexes of the large tables. Returns the statements that make them again. */
function withoutRules(db: Database): readonly string[] {
  const rules = db
    .query<{ type: string; name: string; sql: string }, []>(
      `SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL
        AND (type = 'trigger' OR (type = 'index' AND tbl_name IN ('entries', 'requests')))`,
    )
    .all()
  for (const { type, name } of rules) db.run(`DROP ${type} "${name}"`)
  return rules.map(({ sql }) => sql)
}

/** An id as `makeId` makes it: the time, and a number. */
function id(prefix: string, at: string, n: string): string {
  return `printf('${prefix}_%012x7%03x8%015x', ${at}, (${n}) % 4096, ${n})`
}

function openAccounts(db: Database, at: number): void {
  db.run(
    `CREATE TEMP TABLE owners (n INTEGER PRIMARY KEY, account TEXT, user TEXT, key TEXT, pool TEXT, part TEXT, is_new INTEGER)`,
  )
  db.run(`INSERT INTO owners SELECT row_number() OVER (ORDER BY id) - 1, account_id, '', id, pool_id, 'paid', 0 FROM keys
    WHERE revoked_at IS NULL GROUP BY account_id LIMIT ${BUSY}`)
  db.run(
    `INSERT INTO owners WITH RECURSIVE n(i) AS (SELECT (SELECT count(*) FROM owners) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ${accounts})
     SELECT i, ${id('acct', `${at}`, 'i')}, printf('grown%08d%06x', i, abs(random() % 16777215)), ${id('key', `${at}`, 'i')},
       ${id('pool', `${at}`, 'i')}, iif(i < ${BUSY}, 'paid', 'credit'), 1 FROM n WHERE i < ${accounts}`,
  )
  db.run(`INSERT INTO identity_user (id, name, email, email_verified, created_at, updated_at)
    SELECT user, 'Grown', user || '@example.com', 1, ${at}, ${at} FROM owners WHERE is_new`)
  db.run(`INSERT INTO accounts (id, user_id, created_at) SELECT account, user, ${at} FROM owners WHERE is_new`)
  db.run(
    `INSERT INTO account_directory (account_id, user_id, created_at) SELECT account, user, ${at} FROM owners WHERE is_new`,
  )
  db.run('INSERT INTO pools (id, account_id) SELECT pool, account FROM owners WHERE is_new')
  db.run(`INSERT INTO keys (id, account_id, pool_id, hash, prefix, last4, name, allowed_ips, allowed_endpoints, allowed_models, created_at)
    SELECT key, account, pool, lower(hex(randomblob(32))), 'gwk_' || substr(key, -4), substr(key, -4), 'key', '[]', '[]', '[]', ${at}
    FROM owners WHERE is_new`)
  db.run(`INSERT INTO entries (transaction_id, kind, account_id, debit, credit, amount, at, description, reference)
    SELECT ${id('txn', `${at}`, 'n')}, iif(part = 'paid', 'top_up', 'grant'), account, iif(part = 'paid', 'house/top_ups', 'house/grants'),
      account || '/' || part, iif(part = 'paid', ${BUSY_PAID}, ${OTHERS_CREDIT}), ${at}, 'Grown', 'grown:' || account FROM owners`)
}

/** A call in twenty fails; one in 50,000 was charged and given back. */
function addCalls(db: Database, { first, last }: { first: number; last: number }, from: number, to: number): void {
  db.run('DROP TABLE IF EXISTS temp.made')
  db.run(
    `CREATE TEMP TABLE made AS WITH RECURSIVE n(i) AS (SELECT ${from} UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ${to}),
      at(i, t) AS MATERIALIZED (SELECT i, ${first} + CAST(i * ${(last - first) / calls} AS INTEGER) FROM n)
    SELECT i, t AS at, ${id('req', 't', 'i')} AS id, o.account, o.key, o.part, 1000 * (1 + i % 5) AS price,
      CASE WHEN i % 20 = 7 THEN 429 WHEN i % 50000 = 3 THEN 503 ELSE 200 END AS status,
      CASE i % 3 WHEN 0 THEN 'image-search' WHEN 1 THEN 'web-search' ELSE 'llm-context-search' END AS operation
    FROM at JOIN owners o ON o.n = iif(i % 2 = 0, (i / 2) % ${Math.min(BUSY, accounts)}, (i * 2654435761) % ${accounts})`,
  )
  db.run(`INSERT INTO requests (id, account_id, key_id, operation, at, status, code, latency_ms, address, input_tokens, output_tokens,
      cache_read_tokens, cache_write_tokens, cost, price_version, unit_price, units, provider, waiting_ms, upstream_ms)
    SELECT id, account, key, operation, at, status, CASE status WHEN 429 THEN 'rate_limited' WHEN 503 THEN 'service_unavailable' END,
      20 + i % 900, '192.0.2.1', 0, 0, 0, 0, iif(status = 200, price, 0), iif(status = 429, NULL, '2.0.0'), price, 1, 'local', 0, 15
    FROM made ORDER BY i`)
  const entry = (kind: string, debit: string, credit: string) =>
    `SELECT i, ${id('txn', 'at', 'i')} AS transaction_id, '${kind}' AS kind, account, ${debit} AS debit, ${credit} AS credit, price,
      at + 20 AS at, id, operation || '${kind === 'charge' ? '' : ', not delivered'}' AS description FROM made`
  const own = "account || '/' || part"
  db.run(`INSERT INTO entries (transaction_id, kind, account_id, debit, credit, amount, at, request_id, description)
    SELECT transaction_id, kind, account, debit, credit, price, at, id, description FROM (
      ${entry('charge', own, "'house/revenue'")} WHERE status <> 429
      UNION ALL ${entry('reversal', "'house/revenue'", own)} WHERE status = 503) ORDER BY i, kind`)
}

function addSums(db: Database): void {
  const rolled = (table: string, ms: number) =>
    db.run(`INSERT INTO ${table} SELECT account_id, at / ${ms}, key_id, operation, status, '', count(*), 0, 0, 0, 0, sum(cost), 0, 0
      FROM requests WHERE provider = 'local' GROUP BY 1, 2, 3, 4, 5`)
  rolled('usage_rollup', DAY_MS / 96)
  rolled('usage_days', DAY_MS)
  const latency = (table: string, ms: number) =>
    db.run(`INSERT INTO ${table} SELECT account_id, at / ${ms}, key_id, operation, provider, '', 20 + latency_ms / 100, count(*)
      FROM requests WHERE provider = 'local' AND status = 200 GROUP BY 1, 2, 3, 4, 7`)
  latency('usage_latency', DAY_MS / 96)
  latency('usage_latency_days', DAY_MS)
  db.run(`UPDATE pools SET spent = spent + s.cost FROM (SELECT key_id, sum(cost) AS cost FROM requests WHERE provider = 'local' GROUP BY 1) s
    JOIN keys k ON k.id = s.key_id WHERE pools.id = k.pool_id`)
  for (const part of ['credit', 'paid'])
    db.run(`UPDATE accounts SET ${part} = s.total FROM (SELECT account_id, sum(iif(credit = account_id || '/${part}', amount, 0)
        - iif(debit = account_id || '/${part}', amount, 0)) AS total FROM entries WHERE account_id IS NOT NULL GROUP BY account_id) s
      WHERE accounts.id = s.account_id`)
  db.run(
    "UPDATE accounts SET topped_up = s.total FROM (SELECT account_id, sum(amount) AS total FROM entries WHERE kind = 'top_up' GROUP BY 1) s WHERE accounts.id = s.account_id",
  )
}
