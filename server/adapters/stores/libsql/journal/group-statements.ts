import type { AuditEntry } from '../../../../core/audit'
import { DAY_MS } from '../../../../core/clock'
import type { IdempotencyRecord } from '../../../../core/idempotency/idempotency-record'
import type { KeyId } from '../../../../core/ids'
import type { AccountChange, LedgerEntry } from '../../../../core/ledger/entry'
import type { DurableHold, JournalRecord } from '../../../../core/ledger/journal'
import type { CallRecord } from '../../../../core/usage/call-record'
import { hasLatency, latencyBucket } from '../../../../core/usage/latency'
import { QUARTER_HOUR_MS } from '../../../../core/usage/reports'
import type { SqlStatement } from '../driver/worker-wire'

/** The writes of one group of records: one per table, with sums computed here. */
export interface Group {
  readonly records: readonly JournalRecord[]
  /** Calls that moved no money. */
  readonly notes: readonly CallRecord[]
  readonly lastUsed: readonly (readonly [KeyId, number])[]
}

/** The write of a group to one table, in several equivalent forms. */
interface Write {
  /** All rows as one JSON parameter: one statement, whatever the number of rows. */
  readonly all: string
  /** One row with positional values. As a prepared statement, the writes of every charge take half the time. Null for rare writes. */
  readonly one: string | null
  /** `TOGETHER` rows with positional values. Null if rows are not simply inserted. */
  readonly some: string | null
}

/** Rows per prepared statement. Both calls of the driver and parameters of long statements are expensive. */
export const TOGETHER = 16

/** A write with its rows. */
export type RowsOf = readonly [write: Write, rows: readonly unknown[]]

const all = (sql: string): Write => ({ all: sql, one: null, some: null })
const valuesAt = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => `value->>${from + i}`).join(', ')

/** Rows to insert, and the SQL after their values. */
function insert(table: string, columns: string, behind = ''): Write {
  const into = `INSERT INTO ${table} (${columns})`
  const count = columns.split(',').length
  const row = `(${Array(count).fill('?').join(', ')})`
  return {
    all: `${into} SELECT ${valuesAt(0, count)} FROM json_each(?) ${behind && `WHERE true ${behind}`}`,
    one: `${into} VALUES ${row} ${behind}`,
    some: `${into} VALUES ${Array(TOGETHER).fill(row).join(', ')} ${behind}`,
  }
}

/** Amounts to add to columns of a row, whose id comes first. Cast, because parameters are REAL and the sum would be, too. */
function add(table: string, columns: readonly string[]): Write {
  const from = columns.map((_, i) => `value->>${i + 1} AS d${i}`).join(', ')
  const sums = (delta: (i: number) => string) =>
    columns.map((column, i) => `${column} = ${column} + ${delta(i)}`).join(', ')
  return {
    all: `UPDATE ${table} SET ${sums((i) => `j.d${i}`)} FROM (SELECT value->>0 AS id, ${from} FROM json_each(?)) AS j
      WHERE ${table}.id = j.id`,
    one: `UPDATE ${table} SET ${sums((i) => `CAST(?${i + 2} AS INTEGER)`)} WHERE id = ?1`,
    some: null,
  }
}

const OPENINGS = insert('accounts', 'id, user_id, created_at')
const REQUESTS = insert(
  'requests',
  `id, client_request_id, account_id, key_id, operation, at, status, code, latency_ms, address, input_tokens, output_tokens,
    cache_read_tokens, cache_write_tokens, cost, price_version, unit_price, units, model, usage_source, charge_lines, provider, waiting_ms,
    upstream_ms, failure, upstream_cost, held`,
)
const UNDONE = all(`UPDATE requests SET status = 503, code = 'service_unavailable', cost = 0
  WHERE id IN (SELECT value FROM json_each(?))`)
const REPEATS = add('requests', ['repeats'])
const ENTRIES = insert(
  'entries',
  'transaction_id, kind, account_id, debit, credit, amount, at, request_id, description, reference',
)
const BALANCES = add('accounts', ['credit', 'paid', 'topped_up', 'debt'])
const POOLS = add('pools', ['spent'])
/** After the rollup, from which a trigger fills a new row. */
const PERIODS = insert(
  'pool_periods',
  'pool_id, period, starts_at, spent',
  'ON CONFLICT DO UPDATE SET spent = spent + excluded.spent',
)
const HOLDS = all(
  'INSERT OR REPLACE INTO kept_holds (id, hold, call) SELECT value->>0, value->>1, value->>2 FROM json_each(?)',
)
const ENDED_HOLDS = all('DELETE FROM kept_holds WHERE id IN (SELECT value FROM json_each(?))')
/** A response replaces its own reservation, or an expired one. */
const ANSWERS = insert(
  'kept_answers',
  'account_id, operation, key, fingerprint, state, request_id, body, headers, at',
  `ON CONFLICT DO UPDATE SET fingerprint = excluded.fingerprint, state = excluded.state,
    request_id = excluded.request_id, body = excluded.body, headers = excluded.headers, at = excluded.at`,
)
const UNDO_ANSWERS = all('DELETE FROM kept_answers WHERE request_id IN (SELECT value FROM json_each(?))')
const ROLLUP = insert(
  'usage_rollup',
  `account_id, slot, key_id, operation, status, model, requests, input_tokens, output_tokens, cache_read_tokens,
    cache_write_tokens, upstream_cost, upstream_cost_calls, charged`,
  `ON CONFLICT DO UPDATE SET requests = requests + excluded.requests, input_tokens = input_tokens + excluded.input_tokens,
    output_tokens = output_tokens + excluded.output_tokens, cache_read_tokens = cache_read_tokens + excluded.cache_read_tokens,
    cache_write_tokens = cache_write_tokens + excluded.cache_write_tokens, upstream_cost = upstream_cost + excluded.upstream_cost,
    upstream_cost_calls = upstream_cost_calls + excluded.upstream_cost_calls, charged = charged + excluded.charged`,
)
const LATENCY = insert(
  'usage_latency',
  'account_id, slot, key_id, operation, provider, model, bucket, calls',
  'ON CONFLICT DO UPDATE SET calls = calls + excluded.calls',
)
const SCOPES = insert(
  'usage_scopes',
  `account_id, scope, day, key_id, operation, model, requests, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens,
    charged`,
  `ON CONFLICT DO UPDATE SET requests = requests + excluded.requests, input_tokens = input_tokens + excluded.input_tokens,
    output_tokens = output_tokens + excluded.output_tokens, cache_read_tokens = cache_read_tokens + excluded.cache_read_tokens,
    cache_write_tokens = cache_write_tokens + excluded.cache_write_tokens, charged = charged + excluded.charged`,
)
const SETTLED = all('DELETE FROM stuck_records WHERE id IN (SELECT value FROM json_each(?))')
const LAST_USED = all(`UPDATE keys SET last_used_at = j.at
  FROM (SELECT value->>0 AS id, value->>1 AS at FROM json_each(?)) AS j WHERE keys.id = j.id`)
const AUDITS = insert('audit_log', 'id, at, actor_kind, actor_id, address, account_id, key_id, action, detail, before')

/** The writes of a group in order, at most one per table. */
export function groupRows({ records, notes, lastUsed }: Group): RowsOf[] {
  const calls = [...records.flatMap((record) => record.call ?? []), ...notes]
  const [repeated, first] = [calls.filter(({ repeats }) => repeats), calls.filter(({ repeats }) => !repeats)]
  const undone = records.flatMap((record) => record.undoes ?? [])
  const undoneIds = undone.map((call) => call.id)
  const holds = [...holdsAfter(records)]
  const rows: RowsOf[] = [
    [OPENINGS, records.flatMap(({ opening: o }) => (o ? [[o.id, o.userId, o.createdAt]] : []))],
    [REQUESTS, first.map(requestRow)],
    [REPEATS, summed(repeated.map(({ id, repeats = 0 }) => [[id], [repeats]] as const))],
    [UNDONE, undoneIds],
    [ENTRIES, records.flatMap((record) => record.entries.map(entryRow))],
    [BALANCES, summed(records.flatMap(({ change }) => (change ? [balanceRow(change)] : [])))],
    [POOLS, summed(records.flatMap(poolAdditions))],
    [ROLLUP, summed([...calls.filter((call) => call.counted).map(rollupRow), ...undone.flatMap(undoneRollupRows)])],
    [LATENCY, summed(first.filter(({ counted, status }) => counted && hasLatency(status)).map(latencyRow))],
    [SCOPES, summed([...calls.flatMap((call) => scopeRow(call, 1)), ...undone.flatMap((call) => scopeRow(call, -1))])],
    [PERIODS, summed(records.flatMap(periodAdditions))],
    [
      HOLDS,
      holds.flatMap(([id, keeps]) => (keeps ? [[id, JSON.stringify(keeps.hold), JSON.stringify(keeps.call)]] : [])),
    ],
    [ENDED_HOLDS, holds.flatMap(([id, keeps]) => (keeps ? [] : [id]))],
    [ANSWERS, records.flatMap(({ kept: answer }) => (answer ? [answerRow(answer)] : []))],
    [UNDO_ANSWERS, undoneIds],
    [SETTLED, records.flatMap(({ settles }) => settles ?? [])],
    [LAST_USED, lastUsed],
    [AUDITS, records.flatMap(({ audit }) => (audit ? [auditRow(audit)] : []))],
  ]
  return rows.filter(([, some]) => some.length > 0)
}

/** A group as one statement per table, for a remote database. */
export function groupStatements(group: Group): SqlStatement[] {
  return groupRows(group).map(([write, rows]) => ({ sql: write.all, args: [JSON.stringify(rows)] }))
}

/** The durable holds after these records: the last state of each hold; null if it ended. */
function holdsAfter(records: readonly JournalRecord[]): ReadonlyMap<string, DurableHold | null> {
  const holds = new Map<string, DurableHold | null>()
  for (const { keeps, ends } of records) {
    if (keeps) holds.set(keeps.hold.request, keeps)
    if (ends) holds.set(ends, null)
  }
  return holds
}

/** The id of a row, and the numbers to add to it. */
type Addition = readonly [key: readonly (string | number)[], amounts: readonly number[]]

/** Sums the amounts per row, so that a statement changes each row once. */
function summed(additions: readonly Addition[]): (string | number)[][] {
  const rows = new Map<string, { key: Addition[0]; amounts: number[] }>()
  for (const [key, amounts] of additions) {
    const name = key.join('\n')
    const row = rows.get(name)
    if (!row) rows.set(name, { key, amounts: [...amounts] })
    else for (const [i, amount] of amounts.entries()) row.amounts[i] = (row.amounts[i] ?? 0) + amount
  }
  return Array.from(rows.values(), ({ key, amounts }) => [...key, ...amounts])
}

function balanceRow({ accountId, credit, paid, toppedUp, debt }: AccountChange): Addition {
  return [[accountId], [credit, paid, toppedUp, debt ?? 0]]
}

function poolAdditions({ spent }: JournalRecord): Addition[] {
  if (!spent) return []
  const { poolId, parent, parents = parent ? [parent] : [], amount } = spent
  return [poolId, ...parents].map((pool) => [[pool], [amount]])
}

function periodAdditions({ spent }: JournalRecord): Addition[] {
  return spent?.windows?.map((window) => [window, [spent.amount]]) ?? []
}

function auditRow(a: AuditEntry): unknown[] {
  const { kind, id, address } = a.actor
  return [
    a.id,
    a.at,
    kind,
    id,
    address,
    a.accountId,
    a.keyId,
    a.action,
    JSON.stringify(a.detail),
    a.before && JSON.stringify(a.before),
  ]
}

function entryRow(e: LedgerEntry): unknown[] {
  const { transaction, kind, accountId, debit, credit, amount, at, requestId, description, reference } = e
  return [transaction, kind, accountId, debit, credit, amount, at, requestId, description, reference]
}

function answerRow(k: IdempotencyRecord): unknown[] {
  const headers = JSON.stringify(k.headers)
  return [k.account, k.operation, k.key, k.fingerprint, k.state, k.requestId, k.body, headers, k.at]
}

function requestRow(call: CallRecord): unknown[] {
  const { tokens, charged, upstream, failure, upstreamCost = null } = call
  return [
    call.id,
    call.clientRequestId,
    call.accountId,
    call.keyId,
    call.operation,
    call.at,
    call.status,
    call.code,
    call.latencyMs,
    call.address,
    tokens.input,
    tokens.output,
    tokens.cacheRead,
    tokens.cacheWrite,
    charged?.cost ?? 0,
    charged?.priceVersion ?? null,
    charged?.unitPrice ?? null,
    charged?.units ?? null,
    call.model ?? null,
    call.usageSource ?? null,
    charged?.lines ? JSON.stringify(charged.lines) : null,
    upstream?.provider ?? null,
    upstream?.waitingMs ?? null,
    upstream?.upstreamMs ?? null,
    failure ? JSON.stringify(failure) : null,
    upstreamCost,
    call.held ?? null,
  ]
}

function rollupRow(call: CallRecord): Addition {
  const { tokens, upstreamCost } = call
  return [
    [call.accountId, Math.floor(call.at / QUARTER_HOUR_MS), call.keyId, call.operation, call.status, call.model ?? ''],
    [
      ...[call.repeats ?? 1, tokens.input, tokens.output, tokens.cacheRead, tokens.cacheWrite],
      ...[upstreamCost ?? 0, upstreamCost === undefined ? 0 : 1, call.charged?.cost ?? 0],
    ],
  ]
}

/** Only what was charged: nobody fills a table with names for nothing. */
function scopeRow(call: CallRecord, sign: 1 | -1): Addition[] {
  const { accountId, scope, at, keyId, operation, model = '', tokens, charged } = call
  if (scope === undefined || charged === null) return []
  const { input, output, cacheRead, cacheWrite } = tokens
  const amounts = [1, input, output, cacheRead, cacheWrite, charged.cost].map((amount) => sign * amount)
  return [[[accountId, scope, Math.floor(at / DAY_MS), keyId, operation, model], amounts]]
}

function latencyRow({ accountId, at, keyId, operation, upstream, model, latencyMs }: CallRecord): Addition {
  const quarterHour = Math.floor(at / QUARTER_HOUR_MS)
  return [
    [accountId, quarterHour, keyId, operation, upstream?.provider ?? '', model ?? '', latencyBucket(latencyMs)],
    [1],
  ]
}

/** A reversed success counts as the 503 that its caller got. */
function undoneRollupRows(call: CallRecord): Addition[] {
  const [[account, quarterHour, key, operation, status, model] = [], amounts] = rollupRow(call)
  const dimensions = [account ?? '', quarterHour ?? 0, key ?? '', operation ?? '']
  return [
    [[...dimensions, status ?? 0, model ?? ''], amounts.map((amount) => -amount)],
    [
      [...dimensions, 503, model ?? ''],
      [1, ...amounts.slice(1, -1), 0],
    ],
  ]
}
