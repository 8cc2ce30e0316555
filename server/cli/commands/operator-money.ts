import type { BookStatement } from '../../http/operator/books-record'
import type { Reconciled, ReconcileForm } from '../../http/operator/customer-record'
import type { Revenue } from '../../http/operator/revenue-record'
import { askServer, readFromServer, UsageError } from '../control-client'
import { asJson, usd } from '../print'
import { table } from '../table'

export const MONEY_HELP = `  revenue [--by day|operation|model|account|rail] [--from DAY] [--to DAY] [--csv]
                                            show what calls brought in and cost, credit given and used, and what is owed to
                                            customers; of the last 30 days unless told otherwise (days are UTC)
  books MONTH                               print the books of a month such as 2026-11 as CSV: opening balances, every
                                            entry, closing balances
  statement MONTH [--csv]                   show what each ledger account had, got and has; with --csv, also of each customer
                                            both also take --from TIME --to TIME in place of MONTH, and --timezone ZONE
  reconcile [--apply]                       compare the ledger with itself and the card processor, and list what is missing;
                                            with --apply, book it`

interface Options {
  readonly apply?: boolean | undefined
  readonly by?: string | undefined
  readonly csv?: boolean | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly timezone?: string | undefined
  readonly json?: boolean | undefined
}

/** Takes the pieces of a file. */
export type Out = (text: string) => void
type Run = (args: readonly string[], options: Options, out: Out) => Promise<string>

const COMMANDS: Readonly<Record<string, Run>> = {
  revenue: async (args, { by, from, to, csv, json }, out) => {
    if (args.length > 0) throw new UsageError('"operator revenue" takes options only, such as --by model; see --help')
    const query = {
      ...(by !== undefined && { group_by: by }),
      ...(from !== undefined && { from }),
      ...(to !== undefined && { to }),
    }
    if (csv) {
      await readFromServer('revenue-csv', query, out)
      return ''
    }
    const answer = await askServer('revenue', query)
    return json ? asJson(answer) : revenue(answer as Revenue)
  },
  books: async (args, options, out) => {
    await readFromServer('books', periodOf('books', args, options), out)
    return ''
  },
  statement: async (args, options, out) => {
    const period = periodOf('statement', args, options)
    if (options.csv) {
      await readFromServer('statement-csv', period, out)
      return ''
    }
    const answer = await askServer('statement', period)
    return options.json ? asJson(answer) : statement(answer as BookStatement)
  },
  reconcile: async (args, { apply, json }) => {
    if (args.length > 0) throw new UsageError('"operator reconcile" takes no arguments; see --help')
    const answer = await askServer('reconcile', { apply: apply === true } satisfies ReconcileForm)
    return json ? asJson(answer) : reconciled(answer as Reconciled)
  },
}

/** Runs a command about the money of the whole gateway. Null if it is none. */
export function moneyCommand(
  name: string,
  args: readonly string[],
  options: Options,
  out: Out,
): Promise<string> | null {
  return Object.hasOwn(COMMANDS, name) ? (COMMANDS[name]?.(args, options, out) ?? null) : null
}

/** A month as the one argument, or `--from` and `--to`. The server validates them. */
function periodOf(command: string, args: readonly string[], { from, to, timezone }: Options) {
  const isSpan = from !== undefined || to !== undefined
  if (args.length !== (isSpan ? 0 : 1))
    throw new UsageError(`"operator ${command}" takes a month such as 2026-11, or --from TIME --to TIME`)
  return { ...(isSpan ? { from, to } : { month: args[0] }), ...(timezone !== undefined && { timezone }) }
}

function revenue({ rows, totals, credit, ...shown }: Revenue): string {
  const line = (name: string, row: Revenue['totals']) => [
    ...[name, row.calls, usd(row.revenue_micros_usd), usd(row.refunded_micros_usd)],
    ...[usd(row.upstream_cost_micros_usd), row.unknown_cost_calls, usd(row.margin_micros_usd)],
  ]
  const columns = [shown.group_by.toUpperCase(), 'CALLS', 'REVENUE USD', 'REFUNDED', 'COST', 'COST UNKNOWN', 'MARGIN']
  return [
    table(columns, [...rows.map((row) => line(row.email ?? (row.name || '-'), row)), line('total', totals)]),
    `Credit: ${usd(credit.signup_credit_given_micros_usd)} USD at sign-up and ${usd(credit.grants_given_micros_usd)} granted,`,
    ` ${usd(credit.debited_micros_usd)} taken back, ${usd(credit.used_micros_usd)} used (part of the revenue).\n`,
    `Overruns: ${usd(shown.overruns_micros_usd)} USD. Owed to customers on ${shown.to}: ${usd(shown.owed_to_customers_micros_usd)} USD.\n`,
  ].join('')
}

function statement({ from, to, accounts, kinds, entries, owed_to_customers_micros_usd: owed }: BookStatement): string {
  const balances = table(
    ['ACCOUNT', 'OPENING USD', 'DEBITS', 'CREDITS', 'CLOSING USD'],
    accounts.map((row) => [
      row.account,
      usd(row.opening_micros_usd),
      usd(row.debits_micros_usd),
      usd(row.credits_micros_usd),
      usd(row.closing_micros_usd),
    ]),
  )
  const sums = table(
    ['KIND', 'ENTRIES', 'USD'],
    kinds.map((sum) => [sum.kind, sum.entries, usd(sum.amount_micros_usd)]),
  )
  return `${from} to ${to}: ${entries} entries\n\n${balances}\n${sums}\nCustomers can still spend ${usd(owed)} USD.\n`
}

const MICROS = 1_000_000

function reconciled({ ledger, missing, booked, corrected, complete }: Reconciled): string {
  const lines = [
    ledger.length === 0 ? 'The ledger agrees with itself.' : 'The ledger does not agree with itself:',
    ...ledger.map(({ what, subject, one, other }) => `  - ${what}: ${subject} (${one} and ${other})`),
    missing.length === 0 ? 'No payment page is missing.' : 'Payment pages that are unknown here:',
    ...missing.map(
      (page) =>
        `  - ${page.page}: ${page.amount_micros_usd / MICROS} USD, ${page.state}, ${page.account ?? 'no account'}${page.bookable ? '' : ' (cannot be booked)'}`,
    ),
    ...(booked + corrected > 0 ? [`Booked ${booked} top-ups, corrected ${corrected} refunds and disputes.`] : []),
    ...(complete ? [] : ['The card processor stopped answering; run it again.']),
  ]
  return `${lines.join('\n')}\n`
}
