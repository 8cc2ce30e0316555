import type { RefundList } from '../../http/operator/customers/customer-record'
import type {
  CustomerAdjustments,
  CustomerAudit,
  CustomerKeys,
  CustomerLimits,
  CustomerPayments,
  CustomerRequests,
} from '../../http/operator/customers/customer-view-record'
import type { ExplainedRequest, TransactionPage, UsageReport } from '../../http/usage/record'
import { parsedArgsWith } from '../command'
import { askServer, UsageError } from '../control-client'
import { asJson, count, keyStatusText, usdText } from '../print'
import { PROGRAM } from '../program'
import { table } from '../table'
import { customerCommand, refundTable } from './operator-customer'

export const VIEWS_HELP = `  customer VIEW ACCOUNT                     look at one account: requests with their reasons, limits, grants and debits,
                                            payments, keys, usage, audit ("customer --help" lists them)`

const VIEWS_USAGE = `Usage: ${PROGRAM} operator customer VIEW ACCOUNT

Shows one account of the server that runs on DATA_DIR (default: data), as the operator's page of the customer does.

  show ACCOUNT                  balance, limits, why it gets a 402, notes
  requests ACCOUNT              its calls, newest first, with their outcome in words
      [--status STATUS] [--key KEY] [--tag TAG] [--operation NAME] [--model MODEL] [--from TIME] [--to TIME]
  request ACCOUNT REQUEST       one call: why it failed, where its time went, how its charge was calculated (as JSON)
  usage ACCOUNT                 spend of the last 30 days by operation
      [--by key|tag|operation|status|model] [--from TIME] [--to TIME]
  limits ACCOUNT                tier, limits, keys, and its requests for higher limits
  adjustments ACCOUNT           grants, debits and refunds of calls, with their reason and who made them
  transactions ACCOUNT          all entries of its balance, except its payments per request
  payments ACCOUNT              its payments by card and wallet
  refunds ACCOUNT               its card refunds and what became of them
  keys ACCOUNT                  its keys, and the newest 200 revoked ones
  audit ACCOUNT                 changes to the account and its keys

ACCOUNT is an id (acct_...) or a confirmed email address. TIME is as in 2026-11-23T00:00:00Z.

  --limit N      rows per page, 1 to 200 (default: 50)
  --cursor TEXT  the page after the one that ended with this cursor
  --json         print the response as JSON
  --help         print this help
`

const FLAGS = {
  help: { type: 'boolean', short: 'h' },
  json: { type: 'boolean' },
  limit: { type: 'string' },
  cursor: { type: 'string' },
  status: { type: 'string' },
  key: { type: 'string' },
  tag: { type: 'string' },
  operation: { type: 'string' },
  model: { type: 'string' },
  from: { type: 'string' },
  to: { type: 'string' },
  by: { type: 'string' },
} as const

type Given = ReturnType<typeof parsedFlags>['values']

interface View {
  readonly command: string
  /** The options that it takes, by the names of the server. */
  readonly query: (given: Given) => Readonly<Record<string, string | undefined>>
  readonly text: (answer: never) => string
}

const VIEWS: Readonly<Record<string, View>> = {
  requests: view('customer-requests', requestTable, ({ status, key, tag, operation, model, from, to, ...rest }) => ({
    ...{ status, key, tag, operation, model, from, to },
    ...page(rest),
  })),
  usage: view('customer-usage', usageTable, ({ by = 'operation', from, to }) => ({
    group_by: by,
    start_time: secondsOf(from),
    end_time: secondsOf(to),
  })),
  limits: view('customer-limits', limitsText),
  adjustments: view('customer-adjustments', adjustmentTable),
  transactions: view('customer-transactions', transactionTable),
  payments: view('customer-payments', paymentTable),
  refunds: view('refunds', (answer: RefundList) => refundTable(answer.refunds)),
  keys: view('customer-keys', keyTable, () => ({})),
  audit: view('customer-audit', auditTable),
}

function page({ limit, cursor }: Given) {
  return { limit, cursor }
}

/** `text` prints the answer of its own command. */
function view<T>(command: string, text: (answer: T) => string, query: View['query'] = page): View {
  return { command, query, text }
}

function parsedFlags(args: readonly string[]) {
  return parsedArgsWith(args, FLAGS)
}

/** Runs `operator customer VIEW ACCOUNT`. */
export async function customerViewCommand(args: readonly string[]): Promise<string> {
  const { values, positionals } = parsedFlags(args)
  const [name, account, request, ...more] = positionals
  if (values.help || name === undefined) return VIEWS_USAGE
  const wanted = name === 'request' ? 2 : 1
  const known = name === 'show' || name === 'request' || Object.hasOwn(VIEWS, name)
  if (!known) throw new UsageError(`unknown view "${name}"; see "operator customer --help"`)
  if (account === undefined || more.length > 0 || (request !== undefined) !== (wanted === 2))
    throw new UsageError(
      `"operator customer ${name}" takes ${count(wanted, 'argument')} after it; see "operator customer --help"`,
    )
  if (name === 'show' || name === 'request') refuseOthers(name, values, {})
  if (name === 'show') return (await customerCommand('show', [account], values)) ?? ''
  if (name === 'request') return asJson((await askServer('customer-request', { account, request })) as ExplainedRequest)
  const shown = VIEWS[name]
  if (!shown) throw new UsageError(`unknown view "${name}"`)
  const { command, query, text } = shown
  const asked = query(values)
  refuseOthers(name, values, asked)
  const answer = await askServer(command, { account, ...asked })
  if (values.json) return asJson(answer)
  const { next_cursor: next = null } = answer as { next_cursor?: string | null }
  return text(answer as never) + (next === null ? '' : moreRows(next))
}

/** Says how to get the rest of a list that was cut. */
export function moreRows(cursor: string): string {
  return `There are more. The next page: repeat with --cursor ${cursor}\n`
}

/** An option that a view would ignore is refused: a filter must not return everything. */
function refuseOthers(name: string, values: Given, asked: Readonly<Record<string, unknown>>): void {
  const names: Readonly<Record<string, string>> = {
    by: 'group_by',
    ...(name === 'usage' && { from: 'start_time', to: 'end_time' }),
  }
  for (const flag of Object.keys(values)) {
    if (flag === 'json') continue
    if (!((names[flag] ?? flag) in asked)) throw new UsageError(`"operator customer ${name}" does not take --${flag}`)
  }
}

function secondsOf(time: string | undefined): string | undefined {
  if (time === undefined) return undefined
  const at = Date.parse(time)
  if (Number.isNaN(at)) throw new UsageError(`"${time}" is not a time such as 2026-11-23T00:00:00Z`)
  return String(Math.floor(at / 1000))
}

/** A table, or a line that says that there is nothing. */
function rows<T>(none: string, head: readonly string[], all: readonly T[], cells: (row: T) => (string | number)[]) {
  return all.length === 0 ? `${none}\n` : table(head, all.map(cells))
}

function requestTable({ requests }: CustomerRequests): string {
  const head = ['TIME', 'REQUEST', 'KEY', 'NAME', 'OPERATION', 'STATUS', 'USD', 'OUTCOME']
  return rows('No requests.', head, requests, (call) => [
    ...[call.at, call.id, call.key_id, call.key_name ?? '-'],
    ...[call.model ? `${call.operation} ${call.model}` : call.operation, call.status],
    ...[
      usdText(call.cost_micros_usd),
      call.reason === null ? call.outcome : `${call.outcome} (${call.code}): ${call.reason}`,
    ],
  ])
}

function usageTable({ groups = [], totals, start_time: start, end_time: end }: UsageReport): string {
  const line = (name: string, sums: UsageReport['totals']) => [
    ...[name, sums.requests, sums.failed_requests, sums.input_tokens, sums.output_tokens],
    usdText(sums.charged_micros_usd),
  ]
  const head = [groups[0]?.group_by.toUpperCase() ?? '', 'CALLS', 'FAILED', 'TOKENS IN', 'TOKENS OUT', 'USD']
  const span = [start, end].map((seconds) => new Date(seconds * 1000).toISOString()).join(' to ')
  return `${span}\n${table(head, [...groups.map((group) => line(group.name ?? '-', group)), line('total', totals)])}`
}

function limitsText(shown: CustomerLimits): string {
  const { rpm, tpm, concurrency } = shown.limits
  const of = shown.custom ? 'set by an operator' : `of the tier ${shown.tier}`
  const lines = [
    `Each key: ${rpm} requests and ${tpm} tokens per minute, ${concurrency} at once (${of}).`,
    `Keys: ${shown.live_keys} of at most ${shown.most_keys}.`,
  ]
  const head = ['REQUEST', 'SENT', 'STATUS', 'PEAK RPM', 'PEAK TPM', 'USE CASE', 'REASON']
  const asked = rows('It never asked for higher limits.', head, shown.requests, (one) => [
    ...[one.id, one.created_at, one.status, one.peak_rpm, one.peak_tpm, one.use_case, one.reason ?? '-'],
  ])
  return `${lines.join('\n')}\n${asked}`
}

function adjustmentTable({ adjustments }: CustomerAdjustments): string {
  const head = ['TIME', 'KIND', 'USD', 'REASON', 'REFERENCE', 'BY']
  return rows('No grants or debits.', head, adjustments, (one) => [
    ...[
      one.at,
      one.kind,
      usdText(one.amount_micros_usd),
      one.reason,
      one.reference ?? one.request_id ?? '-',
      one.by ?? '-',
    ],
  ])
}

function transactionTable({ transactions }: TransactionPage): string {
  const head = ['TIME', 'KIND', 'USD', 'BALANCE USD', 'DESCRIPTION', 'REQUEST']
  return rows('No transactions.', head, transactions, (one) => [
    ...[one.at, one.kind, usdText(one.amount_micros_usd), usdText(one.balance_after_micros_usd), one.description],
    one.request_id ?? '-',
  ])
}

function paymentTable({ payments }: CustomerPayments): string {
  const head = ['STARTED', 'PAYMENT', 'FOR', 'METHOD', 'STATE', 'USD', 'REFERENCE', 'ERROR']
  return rows('No payments.', head, payments, (one) => [
    ...[one.created_at, one.id, one.purpose, one.method, one.state, usdText(one.amount_micros_usd)],
    ...[one.reference ?? '-', one.error ?? '-'],
  ])
}

function keyTable({ keys }: CustomerKeys): string {
  const head = ['KEY', 'SHOWN', 'STATUS', 'SPENT USD', 'LIMIT USD', 'LAST USED', 'NAME']
  return rows('No keys.', head, keys, (key) => [
    ...[key.id, `${key.prefix}…${key.last4}`, keyStatusText(key), usdText(key.spent_micros_usd)],
    ...[key.spending_limit === null ? '-' : String(key.spending_limit), key.last_used_at ?? 'never', key.name],
  ])
}

function auditTable({ changes }: CustomerAudit): string {
  const head = ['TIME', 'ACTION', 'BY', 'ACTOR', 'IP', 'KEY', 'DETAIL']
  return rows('No changes.', head, changes, (one) => [
    ...[
      one.at,
      one.action,
      one.by,
      one.actor_email ?? one.actor,
      one.ip ?? '-',
      one.key ?? '-',
      JSON.stringify(one.detail),
    ],
  ])
}
