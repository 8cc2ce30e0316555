import type { IdempotencyRecord } from '../../../../core/idempotency/idempotency-record'
import type { KeyId } from '../../../../core/ids'
import type { LedgerEntry } from '../../../../core/ledger/entry'
import type { DurableHold, JournalRecord } from '../../../../core/ledger/journal'
import type { CallRecord } from '../../../../core/usage/call-record'
import type { Statement } from '../driver/worker-wire'

/** Length of a slot of the usage rollup: every time zone's hours and days start on one. */
export const SLOT_MS = 15 * 60_000

/** One group of records, as one statement per table: rows travel as one JSON parameter, sums are made here (facts/performance 4). */
export interface Group {
  readonly records: readonly JournalRecord[]
  /** Calls that moved no money. */
  readonly notes: readonly CallRecord[]
  readonly lastUsed: readonly (readonly [KeyId, number])[]
}

/** Of several openings in one group only the one written first can be the first account. */
const OPENINGS = `INSERT INTO accounts (id, user_id, operator, created_at)
  SELECT value->>0, value->>1, value->>2 AND key = 0 AND NOT EXISTS (SELECT 1 FROM accounts), value->>3 FROM json_each(?)`
const REQUESTS = `INSERT INTO requests (id, client_request_id, account_id, key_id, operation, at, status, code, latency_ms,
    address, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost, price_version, unit_price, units, model,
    usage_source, charge_lines)
  SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7, value->>8,
    value->>9, value->>10, value->>11, value->>12, value->>13, value->>14, value->>15, value->>16, value->>17,
    value->>18, value->>19, value->>20 FROM json_each(?)`
const UNDONE = `UPDATE requests SET status = 503, code = 'service_unavailable', cost = 0
  WHERE id IN (SELECT value FROM json_each(?))`
const ENTRIES = `INSERT INTO entries (transaction_id, kind, account_id, debit, credit, amount, at, request_id, description, reference)
  SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7, value->>8, value->>9
  FROM json_each(?)`
const BALANCES = `UPDATE accounts SET credit = credit + j.c, paid = paid + j.p, topped_up = topped_up + j.t, debt = debt + j.d
  FROM (SELECT value->>0 AS id, value->>1 AS c, value->>2 AS p, value->>3 AS t, value->>4 AS d FROM json_each(?)) AS j
  WHERE accounts.id = j.id`
const POOLS = `UPDATE pools SET spent = spent + j.amount
  FROM (SELECT value->>0 AS id, value->>1 AS amount FROM json_each(?)) AS j WHERE pools.id = j.id`
const KEEPS = `INSERT OR REPLACE INTO kept_holds (id, hold, call) SELECT value->>0, value->>1, value->>2 FROM json_each(?)`
const ENDS = `DELETE FROM kept_holds WHERE id IN (SELECT value FROM json_each(?))`
/** An answer takes the place of its own reservation, or of one that is over. */
const KEPT = `INSERT INTO kept_answers (account_id, operation, key, fingerprint, state, request_id, body, headers, at)
  SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7, value->>8 FROM json_each(?)
  WHERE true ON CONFLICT DO UPDATE SET fingerprint = excluded.fingerprint, state = excluded.state,
    request_id = excluded.request_id, body = excluded.body, headers = excluded.headers, at = excluded.at`
const NOT_KEPT = `DELETE FROM kept_answers WHERE request_id IN (SELECT value FROM json_each(?))`
const ROLLUP = `INSERT INTO usage_rollup (account_id, slot, key_id, operation, status, model, requests,
    input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, charged)
  SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7, value->>8, value->>9, value->>10, value->>11
  FROM json_each(?) WHERE true
  ON CONFLICT DO UPDATE SET requests = requests + excluded.requests, input_tokens = input_tokens + excluded.input_tokens,
    output_tokens = output_tokens + excluded.output_tokens, cache_read_tokens = cache_read_tokens + excluded.cache_read_tokens,
    cache_write_tokens = cache_write_tokens + excluded.cache_write_tokens, charged = charged + excluded.charged`
const LAST_USED = `UPDATE keys SET last_used_at = j.at
  FROM (SELECT value->>0 AS id, value->>1 AS at FROM json_each(?)) AS j WHERE keys.id = j.id`
/** Stands after the openings, so that the row of one says what was decided. */
const AUDITS = `INSERT INTO audit_log (id, at, actor_kind, actor_id, address, account_id, key_id, action, detail)
  SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7,
    CASE value->>7 WHEN 'account.open'
      THEN (SELECT json_set(value->>8, '$.operator', json(iif(operator, 'true', 'false'))) FROM accounts WHERE id = value->>5)
      ELSE value->>8 END
  FROM json_each(?)`

export function groupStatements(group: Group): Statement[] {
  const { records, notes, lastUsed } = group
  const calls = [...records.flatMap((record) => record.call ?? []), ...notes]
  const undone = records.flatMap((record) => record.undoes ?? [])
  const statements: Statement[] = []
  const add = (sql: string, rows: readonly unknown[]) => {
    if (rows.length > 0) statements.push({ sql, args: [JSON.stringify(rows)] })
  }
  add(
    OPENINGS,
    records.flatMap(({ opening: o }) => (o ? [[o.id, o.userId, o.mayBeOperator ? 1 : 0, o.createdAt]] : [])),
  )
  add(REQUESTS, calls.map(requestRow))
  add(
    UNDONE,
    undone.map((call) => call.id),
  )
  add(
    ENTRIES,
    records.flatMap((record) => record.entries.map(entryRow)),
  )
  add(
    BALANCES,
    summed(
      records.flatMap(({ change: c }) => (c ? [[[c.accountId], [c.credit, c.paid, c.toppedUp, c.debt ?? 0]]] : [])),
    ),
  )
  add(POOLS, summed(records.flatMap(({ spent }) => (spent ? [[[spent.poolId], [spent.amount]]] : []))))
  add(ROLLUP, summed([...calls.filter((call) => call.counted).map(rollupRow), ...undone.flatMap(undoneRollupRows)]))
  const kept = keptAfter(records)
  add(
    KEEPS,
    [...kept].flatMap(([id, keeps]) => (keeps ? [[id, JSON.stringify(keeps.hold), JSON.stringify(keeps.call)]] : [])),
  )
  add(
    ENDS,
    [...kept].flatMap(([id, keeps]) => (keeps ? [] : [id])),
  )
  add(
    KEPT,
    records.flatMap(({ kept }) => (kept ? [keptRow(kept)] : [])),
  )
  add(
    NOT_KEPT,
    undone.map((call) => call.id),
  )
  add(LAST_USED, lastUsed)
  add(
    AUDITS,
    records.flatMap(({ audit: a }) =>
      a
        ? [
            [
              a.id,
              a.at,
              a.actor.kind,
              a.actor.id,
              a.actor.address,
              a.accountId,
              a.keyId,
              a.action,
              JSON.stringify(a.detail),
            ],
          ]
        : [],
    ),
  )
  return statements
}

/** What is kept, and what is no more, after these records: the last word on each hold. */
function keptAfter(records: readonly JournalRecord[]): ReadonlyMap<string, DurableHold | null> {
  const kept = new Map<string, DurableHold | null>()
  for (const { keeps, ends } of records) {
    if (keeps) kept.set(keeps.hold.request, keeps)
    if (ends) kept.set(ends, null)
  }
  return kept
}

/** What identifies a row, and the numbers to add to it. */
type Addition = readonly [key: readonly (string | number)[], amounts: readonly number[]]

/** Adds up what falls on the same row, so that a statement touches each row once. */
function summed(additions: readonly (readonly (readonly (string | number)[])[])[]): (string | number)[][] {
  const rows = new Map<string, { key: readonly (string | number)[]; amounts: number[] }>()
  for (const [key = [], amounts = []] of additions) {
    const name = key.join('\n')
    const row = rows.get(name)
    if (row) row.amounts = row.amounts.map((amount, i) => amount + Number(amounts[i] ?? 0))
    else rows.set(name, { key, amounts: amounts.map(Number) })
  }
  return [...rows.values()].map(({ key, amounts }) => [...key, ...amounts])
}

function entryRow(e: LedgerEntry): unknown[] {
  const { transaction, kind, accountId, debit, credit, amount, at, requestId, description, reference } = e
  return [transaction, kind, accountId, debit, credit, amount, at, requestId, description, reference]
}

function keptRow(k: IdempotencyRecord): unknown[] {
  const headers = JSON.stringify(k.headers)
  return [k.account, k.operation, k.key, k.fingerprint, k.state, k.requestId, k.body, headers, k.at]
}

function requestRow(call: CallRecord): unknown[] {
  const { tokens, charged } = call
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
  ]
}

function rollupRow(call: CallRecord): Addition {
  const { tokens } = call
  return [
    [call.accountId, Math.floor(call.at / SLOT_MS), call.keyId, call.operation, call.status, call.model ?? ''],
    [1, tokens.input, tokens.output, tokens.cacheRead, tokens.cacheWrite, call.charged?.cost ?? 0],
  ]
}

/** A success that was reversed counts as the 503 that its caller was told. */
function undoneRollupRows(call: CallRecord): Addition[] {
  const [[account, slot, key, operation, status, model] = [], amounts] = rollupRow(call)
  const place = [account ?? '', slot ?? 0, key ?? '', operation ?? '']
  return [
    [[...place, status ?? 0, model ?? ''], amounts.map((amount) => -amount)],
    [
      [...place, 503, model ?? ''],
      [1, ...amounts.slice(1, -1), 0],
    ],
  ]
}
