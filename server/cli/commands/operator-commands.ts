import { resolve } from 'node:path'
import type { OperatorPrice, OperatorPrices, Publication } from '../../http/operator/record'
import { askServer, CommandRefused, UsageError } from '../control-client'
import { asJson } from '../print'
import type { Columns } from '../record-text'
import { API_COMMANDS } from './operator-api'
import { BACKUP_COMMANDS } from './operator-backup'
import { type Given, noneOr, type OperatorCommand } from './operator-command'
import { MODEL_COMMANDS } from './operator-model'
import { WEBHOOK_COMMANDS } from './webhooks'

const ACCOUNT_COLUMNS = [
  ...['id', 'email', 'role', 'tier', 'limits.rpm', 'limits.tpm', 'limits.concurrency', 'most_keys', 'balance_usd'],
  'suspension.reason',
]
const ACCOUNT: Columns = { account: ACCOUNT_COLUMNS }
const REFUND_COLUMNS = ['id', 'payment', 'amount_micros_usd', 'state', 'processor_id', 'error', 'note']
const LIMIT_REQUEST_COLUMNS = [
  ...['id', 'workspace_id', 'email', 'status', 'peak_rpm', 'peak_tpm', 'endpoints', 'use_case', 'reason'],
]
const STUCK_COLUMNS = ['id', 'at', 'account', 'kind', 'amount_micros_usd', 'due', 'reason']
const PERIOD = { from: 'TIME', to: 'TIME', timezone: 'ZONE' }
const NONE = { none: true } as const

/** One customer. The page of the customer has the same views. */
const CUSTOMER_COMMANDS: readonly OperatorCommand[] = [
  {
    words: 'list',
    about: 'list accounts and prices, or find accounts by email, name, key, or the id of a key, request or payment',
    route: 'GET /accounts',
    args: ['search?'],
    isPaged: true,
    more: async (answer, { cursor }) => ({ ...answer, prices: cursor === undefined ? await operatorPrices() : [] }),
    columns: { accounts: ACCOUNT_COLUMNS, prices: ['operation', 'account', 'usd', 'version', 'at'] },
  },
  ...['show', 'customer show'].map((words) => ({
    words,
    about: 'show an account: balance, why it gets a 402, notes',
    route: 'GET /accounts/:account',
    args: ['account'],
  })),
  {
    words: 'customer requests',
    about: 'its calls, newest first, with their outcome in words',
    route: 'GET /accounts/:account/requests',
    args: ['account'],
    options: {
      status: 'STATUS',
      key: 'KEY',
      tag: 'TAG',
      operation: 'NAME',
      model: 'MODEL',
      from: 'TIME',
      to: 'TIME',
    },
    isPaged: true,
    columns: {
      requests: [
        ...['at', 'id', 'key_id', 'key_name', 'operation', 'model', 'status', 'cost_micros_usd', 'outcome', 'code'],
        'reason',
      ],
    },
  },
  {
    words: 'customer request',
    about: 'one call as JSON: why it failed, where its time went, how its charge was calculated',
    route: 'GET /accounts/:account/requests/:request',
    args: ['account', 'request'],
    print: asJson,
  },
  {
    words: 'customer usage',
    about: 'spend of the last 30 days by operation, key, tag, status or model; TIME is as in 2026-11-23T00:00:00Z',
    route: 'GET /accounts/:account/usage',
    args: ['account'],
    options: { by: 'GROUP', from: 'TIME', to: 'TIME' },
    read: ({ account, by = 'operation', from, to }) => ({
      account,
      by,
      start_time: secondsOf(from),
      end_time: secondsOf(to),
    }),
    columns: {
      buckets: [],
      latency: [],
      groups: [
        ...['group_by', 'name', 'requests', 'failed_requests', 'input_tokens', 'output_tokens', 'charged_micros_usd'],
      ],
    },
  },
  {
    words: 'customer limits',
    about: 'tier, limits, keys, and its requests for higher limits',
    route: 'GET /accounts/:account/limits',
    args: ['account'],
    isPaged: true,
  },
  {
    words: 'customer adjustments',
    about: 'grants, debits and refunds of calls, with their reason and who made them',
    route: 'GET /accounts/:account/adjustments',
    args: ['account'],
    isPaged: true,
    columns: { adjustments: ['at', 'kind', 'amount_micros_usd', 'reason', 'reference', 'request_id', 'by'] },
  },
  {
    words: 'customer transactions',
    about: 'all entries of its balance, except its payments per request',
    route: 'GET /accounts/:account/transactions',
    args: ['account'],
    isPaged: true,
    columns: {
      transactions: ['at', 'kind', 'amount_micros_usd', 'balance_after_micros_usd', 'description', 'request_id'],
    },
  },
  {
    words: 'customer payments',
    about: 'its payments by card and wallet',
    route: 'GET /accounts/:account/payments',
    args: ['account'],
    isPaged: true,
    columns: {
      payments: ['created_at', 'id', 'purpose', 'method', 'state', 'amount_micros_usd', 'reference', 'error'],
    },
  },
  ...['refunds', 'customer refunds'].map((words) => ({
    words,
    about: 'its card refunds and what became of them, newest first',
    route: 'GET /accounts/:account/refunds',
    args: ['account'],
    isPaged: true,
    columns: { refunds: REFUND_COLUMNS },
  })),
  {
    words: 'customer keys',
    about: 'its keys, and the newest 200 revoked ones',
    route: 'GET /accounts/:account/keys',
    args: ['account'],
    columns: {
      keys: ['id', 'last4', 'status', 'stops_at', 'spent_micros_usd', 'spending_limit', 'last_used_at', 'name'],
    },
  },
  {
    words: 'customer audit',
    about: 'changes to the account and its keys',
    route: 'GET /accounts/:account/audit',
    args: ['account'],
    isPaged: true,
    columns: { changes: ['at', 'action', 'by', 'actor_email', 'actor', 'ip', 'key', 'detail'] },
  },
  {
    words: 'suspend',
    about:
      'refuse its keys, apps and sessions from the next request on; the owner sees the reason, and the money stays',
    route: 'POST /accounts/:account/suspend',
    args: ['account'],
    options: { reason: 'TEXT' },
    needs: ['reason'],
    columns: ACCOUNT,
  },
  {
    words: 'lift',
    about: 'lift the suspension',
    route: 'POST /accounts/:account/lift',
    args: ['account'],
    options: { reason: 'TEXT' },
    needs: ['reason'],
    columns: ACCOUNT,
  },
  {
    words: 'key',
    about: 'disable, enable or revoke one key, such as one that leaked; "list gwk_Ab12" finds its account',
    route: 'POST /accounts/:account/keys/:key',
    args: ['account', 'key', 'action'],
    columns: { key: ['id', 'name', 'status'] },
  },
  {
    words: 'end-sessions',
    about: 'sign the owner out everywhere',
    route: 'POST /accounts/:account/end-sessions',
    args: ['account'],
  },
  {
    words: 'note',
    about: 'leave a note for colleagues; the owner never sees it',
    route: 'POST /accounts/:account/notes',
    args: ['account', 'text'],
  },
  {
    words: 'role',
    about: 'make an account operator or support (no money, prices or secrets), or take its role with --none',
    route: 'POST /accounts/:account/role',
    args: ['account', 'role?'],
    options: NONE,
    read: ({ account, role, none }) => ({ account, role: noneOr(none, role, 'a role') }),
    columns: ACCOUNT,
  },
  {
    words: 'reset-link',
    about: 'print a link to set a new password, valid once within an hour',
    route: 'POST /accounts/:account/reset-link',
    args: ['account'],
    print: ({ link }: { readonly link: string }) => `${link}\n`,
  },
  {
    words: 'reset-second-factor',
    about: 'remove the second factors of an owner who lost them, and end their sessions; the owner is notified',
    route: 'POST /accounts/:account/second-factor-reset',
    args: ['account'],
  },
  {
    words: 'export',
    about: 'print all data about an account as JSON, for its owner',
    route: 'GET /accounts/:account/export',
    args: ['account'],
    print: asJson,
  },
  {
    words: 'erase',
    about: 'close an account for good: keys, sessions and personal data go, the books stay',
    route: 'POST /accounts/:account_id/erase',
    args: ['account_id'],
    options: { yes: true },
    read({ account_id: id, yes }) {
      if (!yes)
        throw new UsageError('"operator erase" cannot be undone. Export the data first, then repeat it with --yes')
      return { account_id: id, confirm: id }
    },
  },
]

/** Credit, limits and prices. */
const LIMIT_COMMANDS: readonly OperatorCommand[] = [
  {
    words: 'grant',
    about: 'add credit; a reference is never booked twice',
    route: 'POST /accounts/:account/grants',
    args: ['account', 'usd'],
    options: { note: 'TEXT', reference: 'TEXT' },
    columns: ACCOUNT,
  },
  {
    words: 'debit',
    about: 'take money from what is available, such as a wrong grant; never below zero',
    route: 'POST /accounts/:account/debits',
    args: ['account', 'usd'],
    options: { note: 'TEXT', reference: 'TEXT' },
    needs: ['note'],
    columns: ACCOUNT,
  },
  {
    words: 'refund',
    about: 'return a card payment (pay_...) through its processor, or the charge of a call (req_...); all without USD',
    route: 'POST /accounts/:account/refunds',
    args: ['account', 'payment', 'usd?'],
    options: { note: 'TEXT', reference: 'TEXT' },
    needs: ['note'],
    columns: { refund: REFUND_COLUMNS },
  },
  {
    words: 'limits',
    about: 'set custom limits (Enterprise), or remove them with --none',
    route: 'POST /accounts/:account/limits',
    args: ['account', 'rpm?', 'tpm?', 'concurrency?'],
    options: NONE,
    read: (given) => ({ account: given['account'], limits: noneOr(given['none'], limitsOf(given), 'three limits') }),
    columns: ACCOUNT,
  },
  {
    words: 'keys',
    about: 'set the maximum number of live keys, or restore the default with --none',
    route: 'POST /accounts/:account/max-keys',
    args: ['account', 'number?'],
    options: NONE,
    read: ({ account, number, none }) => {
      const keys = number === undefined ? undefined : Number(number)
      return { account, keys: noneOr(none, keys, 'a number') }
    },
    columns: ACCOUNT,
  },
  {
    words: 'price',
    about: 'set the price of a unit, such as 0.004, for everyone or one account, or restore the default with --none',
    route: 'POST /prices',
    args: ['operation', 'usd?'],
    options: { none: true, account: 'ACCOUNT' },
    read: ({ none, usd, ...rest }) => ({ ...rest, usd: noneOr(none, usd, 'a price') }),
  },
  {
    words: 'requests',
    about: 'list pending requests for higher limits, newest first',
    route: 'GET /limit-requests',
    isPaged: true,
    read: (given) => ({ ...given, status: 'pending' }),
    columns: { requests: LIMIT_REQUEST_COLUMNS },
  },
  {
    words: 'approve',
    about: 'move the account to Growth, or give it custom limits instead',
    route: 'POST /limit-requests/:request/approve',
    args: ['request', 'rpm?', 'tpm?', 'concurrency?'],
    options: { reason: 'TEXT' },
    read: ({ request, reason, ...given }) => ({ request, reason, limits: limitsOf(given) }),
    columns: { request: LIMIT_REQUEST_COLUMNS },
  },
  {
    words: 'decline',
    about: 'decline a request; the owner sees the reason',
    route: 'POST /limit-requests/:request/decline',
    args: ['request'],
    options: { reason: 'TEXT' },
    needs: ['reason'],
    columns: { request: LIMIT_REQUEST_COLUMNS },
  },
]

/** The money of the whole gateway. */
const MONEY_COMMANDS: readonly OperatorCommand[] = [
  {
    words: 'workers',
    about: 'the processes that serve calls (WORKERS)',
    route: 'GET /workers',
    columns: { workers: ['name', 'pid', 'version', 'connected', 'since', 'open_calls', 'cpu_percent', 'lag_ms'] },
  },
  {
    words: 'workers add',
    about: 'let a worker of another machine serve calls: prints its WORKER_CREDENTIAL, once',
    route: 'POST /worker-credentials',
    args: ['name'],
    print: ({ credential }: { readonly credential: string }) => `${credential}\n`,
  },
  {
    words: 'workers list',
    about: 'list the names of workers that were added',
    route: 'GET /worker-credentials',
    columns: { credentials: ['name', 'created_at'] },
  },
  {
    words: 'workers remove',
    about: 'cut its workers off at once, and refuse them from then on',
    route: 'DELETE /worker-credentials/:name',
    args: ['name'],
  },
  {
    words: 'after-restore',
    about: 'list what needs a look after data was restored from an older copy, or act on it with --apply',
    legend: `--apply ends all sessions and books what is missing. --lost is the database file that was lost, if it can be read: keys and
accounts that were stopped since are stopped again. --disable-keys disables every key; its owner can enable it.
--taken-at says when the copy was taken of a database that its server restored.\n`,
    route: 'POST /after-restore',
    options: { 'taken-at': 'TIME', lost: 'DATABASE', 'disable-keys': true, apply: true },
    read: ({ lost, ...given }) => ({
      ...given,
      lost_database: lost === undefined ? undefined : resolve(String(lost)),
    }),
  },
  {
    words: 'revenue',
    about: 'show what calls brought in and cost, credit given and used, and what is owed to customers',
    legend: `GROUP is day, operation, model, account or rail. DAY is in UTC, as in 2026-11-23; by default the last 30 days.\n`,
    route: 'GET /revenue',
    options: { by: 'GROUP', from: 'DAY', to: 'DAY' },
    file: { end: null },
  },
  {
    words: 'books',
    about:
      'print the books of a month such as 2026-11 as CSV, by UTC day; with --entries, every entry between balances',
    route: 'GET /books',
    args: ['month?'],
    options: { ...PERIOD, entries: true },
    read: period,
    file: { end: 'total,', isOnly: true },
  },
  {
    words: 'statement',
    about: 'show what each ledger account had, got and has in a month or a period; with --csv, also of each customer',
    route: 'GET /statement',
    args: ['month?'],
    options: PERIOD,
    read: period,
    file: { end: 'total,' },
  },
  {
    words: 'reconcile',
    about: 'compare the ledger with itself, the card processor and the chains, and list what does not agree',
    legend: `--apply books what is missing. --history shows the last comparisons, also the daily ones, and what waits for a decision.\n`,
    route: ({ history }) => (history ? 'GET /reconciliations' : 'POST /reconcile'),
    options: { apply: true, from: 'TIME', to: 'TIME', history: true },
    read: ({ history, ...given }) => (history ? {} : given),
    columns: { last: [] },
  },
  {
    words: 'stuck list',
    about: 'list records of the ledger that the tables refuse; calls of their accounts get 503 until each is decided',
    route: 'GET /stuck',
    isPaged: true,
    columns: { records: STUCK_COLUMNS },
  },
  { words: 'stuck show', about: 'show one', route: 'GET /stuck/:id', args: ['id'] },
  { words: 'stuck retry', about: 'book it, once its cause is fixed', route: 'POST /stuck/:id/retry', args: ['id'] },
  {
    words: 'stuck discard',
    about: 'do not charge it: what its caller was served becomes an overrun, which the gateway bears',
    route: 'POST /stuck/:id/discard',
    args: ['id'],
    options: { note: 'TEXT' },
    needs: ['note'],
  },
]

const GATEWAY_COMMANDS: readonly OperatorCommand[] = [
  {
    words: 'ready',
    about: 'show whether calls can be served and charged, and the state of each provider',
    usage: '',
    async run() {
      const answer = await askServer('GET', '/ready')
      // Its exit code is what a supervisor asks for.
      if (Reflect.get(Object(answer), 'status') !== 'ready') throw new CommandRefused(asJson(answer).trimEnd())
      return asJson(answer)
    },
  },
  {
    words: 'publish check',
    about: 'show what directories of tools and paid APIs would list, and why not, and server.json for the MCP registry',
    route: 'GET /publication',
    print: ({ directories, server_json }: Publication) => {
      const texts = directories.map(({ directory, lists, problems }) =>
        [`${directory}: ${problems.length === 0 ? 'listed' : 'not listed'}`, ...lists, ...problems].join('\n  - '),
      )
      return `${texts.join('\n')}\n\nserver.json (publish it with mcp-publisher):\n${asJson(server_json)}`
    },
  },
]

/** All commands, in the order of the help. */
export const OPERATOR_COMMANDS: readonly OperatorCommand[] = [
  ...CUSTOMER_COMMANDS,
  ...LIMIT_COMMANDS,
  ...MONEY_COMMANDS,
  ...GATEWAY_COMMANDS,
  ...MODEL_COMMANDS,
  ...API_COMMANDS,
  ...WEBHOOK_COMMANDS,
  ...BACKUP_COMMANDS,
]

async function operatorPrices(): Promise<readonly OperatorPrice[]> {
  return ((await askServer('GET', '/api/operator/prices')) as OperatorPrices).prices
}

/** All three, or none. */
function limitsOf({ rpm, tpm, concurrency }: Given) {
  if (rpm === undefined) return undefined
  if (concurrency === undefined) throw new UsageError('limits are RPM TPM CONCURRENCY; see --help')
  return { rpm: Number(rpm), tpm: Number(tpm), concurrency: Number(concurrency) }
}

/** A month as the one argument, or `--from` and `--to`. */
function period(given: Given): Given {
  const isSpan = given['from'] !== undefined || given['to'] !== undefined
  if (isSpan === (given['month'] !== undefined))
    throw new UsageError('name a month such as 2026-11, or --from TIME --to TIME')
  return given
}

function secondsOf(time: string | boolean | undefined): number | undefined {
  if (time === undefined) return undefined
  const at = Date.parse(String(time))
  if (Number.isNaN(at)) throw new UsageError(`"${time}" is not a time such as 2026-11-23T00:00:00Z`)
  return Math.floor(at / 1000)
}
