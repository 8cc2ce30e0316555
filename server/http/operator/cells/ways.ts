import type { CellName } from '../../../core/cluster/cells'
import { isJson, listOf } from '../../../core/json'
import { DEFAULT_ROWS, joinedPages } from '../../../core/page'
import type { Health } from '../nodes/health-record'
import type { Rule } from './figures'
import { AUDIT_CSV, AUDIT_LINES, BOOKS_CSV, REVENUE_CSV, STATEMENT_CSV } from './file-joins'
import type { Asked, FileJoin } from './files'
import { API_REPORT, health, REVENUE, STATEMENT, UPSTREAMS } from './report-joins'

/** Which cells answer what operators ask, once there are several (ADR 45). `main` gets all of it first. */
export type Way =
  /** `main` alone: it concerns no account, or its handler asks the others itself. */
  | { readonly kind: 'main' }
  /** The cell of the account: `:id` of the path, or `account` of a command. */
  | { readonly kind: 'account' }
  /** The same; without an account it is that of the only operator. */
  | { readonly kind: 'operator' }
  /** The cell that the command names; without one it is `main`. */
  | { readonly kind: 'named' }
  /** The cell that knows this id: the others say that it does not exist. */
  | { readonly kind: 'holder' }
  /** All cells. */
  | { readonly kind: 'report'; readonly join: Join }
  | { readonly kind: 'file'; readonly format: 'csv' | 'lines'; readonly join: FileJoin }

/** `cells`: whose answers these are. */
type Join = (answers: readonly unknown[], asked: Asked, cells: readonly CellName[]) => object

const MAIN: Way = { kind: 'main' }
const ACCOUNT: Way = { kind: 'account' }
const OPERATOR: Way = { kind: 'operator' }
const HOLDER: Way = { kind: 'holder' }

const ACCOUNTS = page('accounts', 'newest first')
const LIMIT_REQUESTS = page('requests', 'newest first')
const STUCK = page('records', 'oldest first')
const AUDIT = page('entries', 'newest first')

/** Every route of operators. */
const ROUTES: Readonly<Record<string, Way>> = {
  'GET /api/operator/accounts': ACCOUNTS,
  'GET /api/operator/limit-requests': LIMIT_REQUESTS,
  'POST /api/operator/limit-requests/:id/approve': HOLDER,
  'POST /api/operator/limit-requests/:id/decline': HOLDER,
  'GET /api/operator/stuck': STUCK,
  'GET /api/operator/stuck/:id': HOLDER,
  'POST /api/operator/stuck/:id/retry': HOLDER,
  'POST /api/operator/stuck/:id/discard': HOLDER,
  'GET /api/operator/audit': AUDIT,
  'GET /api/operator/audit.csv': file('csv', AUDIT_CSV),
  'GET /api/operator/audit.jsonl': file('lines', AUDIT_LINES),
  'GET /api/operator/books.csv': file('csv', BOOKS_CSV),
  'GET /api/operator/statement.csv': file('csv', STATEMENT_CSV),
  'GET /api/operator/statement': report(STATEMENT),
  'GET /api/operator/revenue': report(REVENUE),
  'GET /api/operator/revenue.csv': file('csv', REVENUE_CSV),
  'GET /api/operator/api-report': report(API_REPORT),
  'GET /api/operator/health': {
    kind: 'report',
    join: (answers, _, cells) => health(answers as readonly Health[], cells),
  },
  'GET /api/operator/upstreams': report(UPSTREAMS),
  // The comparison asks the other cells itself, and is kept in the control database.
  'POST /api/operator/reconcile': MAIN,
  'GET /api/operator/reconciliations': MAIN,
  // What of it concerns another cell is a command of the control socket.
  'GET /api/operator/after-restore': MAIN,
  'POST /api/operator/after-restore': MAIN,
  'GET /api/operator/prices': MAIN,
  'POST /api/operator/prices': MAIN,
  'POST /api/operator/api-documents': MAIN,
}
/** All routes below these. */
const ROUTES_BELOW: readonly (readonly [path: string, way: Way])[] = [
  ['/api/operator/accounts/:id', ACCOUNT],
  ['/api/operator/apis', MAIN],
]

/** Every command of the control socket. */
const COMMANDS: Readonly<Record<string, Way>> = {
  list: ACCOUNTS,
  requests: LIMIT_REQUESTS,
  'stuck-list': STUCK,
  books: file('csv', BOOKS_CSV),
  'statement-csv': file('csv', STATEMENT_CSV),
  statement: report(STATEMENT),
  revenue: report(REVENUE),
  'revenue-csv': file('csv', REVENUE_CSV),
  'api-report': report(API_REPORT),
  ...named(HOLDER, ['approve', 'decline', 'stuck-show', 'stuck-retry', 'stuck-discard']),
  ...named(ACCOUNT, [
    'show',
    'grant',
    'debit',
    'refund',
    'refunds',
    'limits',
    'keys',
    'suspend',
    'lift',
    'role',
    'key',
  ]),
  ...named(ACCOUNT, ['note', 'end-sessions', 'erase', 'export', 'reset-link', 'reset-second-factor']),
  ...named(ACCOUNT, ['customer-usage', 'customer-requests', 'customer-request', 'customer-limits', 'customer-keys']),
  ...named(ACCOUNT, ['customer-transactions', 'customer-adjustments', 'customer-payments', 'customer-audit']),
  ...named(OPERATOR, ['webhooks', 'webhook-add', 'webhook-set', 'webhook-remove', 'webhook-rotate', 'webhook-test']),
  ...named(OPERATOR, ['webhook-deliveries', 'webhook-resend']),
  ...named(MAIN, [
    'price',
    'publish',
    'payments',
    'ready',
    'nodes',
    'cells',
    'cells-move',
    'reconcile',
    'reconcile-cell',
    'reconciliations',
  ]),
  'after-restore': { kind: 'named' },
  ...named(MAIN, [
    'apis',
    'api-show',
    'api-set',
    'api-lift',
    'api-remove',
    'api-import',
    'api-test',
    'api-export',
    'apply',
  ]),
  ...named(MAIN, ['models', 'model-put', 'model-price', 'model-remove', 'backup', 'backup-status', 'backup-list']),
}
/** Null for what is no route of operators. */
export function wayOfRoute(method: string, route: string): Way | null {
  const below = ROUTES_BELOW.find(([path]) => route === path || route.startsWith(`${path}/`))
  return ROUTES[`${method} ${route}`] ?? below?.[1] ?? null
}

/** Null for what is no command. */
export function wayOfCommand(command: string): Way | null {
  return Object.hasOwn(COMMANDS, command) ? (COMMANDS[command] ?? null) : null
}

function named(way: Way, commands: readonly string[]): Record<string, Way> {
  return Object.fromEntries(commands.map((command) => [command, way]))
}

function report<T extends object>(rule: Rule<T>): Way {
  // The records of this version: nodes of a set run one version, and while they are updated, the one before, which has the same fields.
  return { kind: 'report', join: (answers) => rule(answers as readonly T[]) }
}

function file(format: 'csv' | 'lines', join: FileJoin): Way {
  return { kind: 'file', format, join }
}

/** A page of rows with ids that sort by time. What else is on it comes from `main`. */
function page(rows: string, order: 'newest first' | 'oldest first'): Way {
  const join = (answers: readonly unknown[], asked: Asked) => {
    const pages = answers.filter(isJson).map((answer) => ({
      rows: listOf(answer[rows]) as readonly { readonly id: string }[],
      next: (answer['next_cursor'] ?? null) as string | null,
    }))
    const { rows: joined, next } = joinedPages(pages, Number(asked('limit') ?? DEFAULT_ROWS), order)
    return { ...Object(answers[0]), [rows]: joined, next_cursor: next }
  }
  return { kind: 'report', join }
}
