import { resolve } from 'node:path'
import type { BookStatement } from '../../http/operator/money/books-record'
import type { Reconciled, ReconcileForm, Reconciliations } from '../../http/operator/money/reconcile-record'
import type { Revenue } from '../../http/operator/money/revenue-record'
import type { AfterRestore, AfterRestoreCommand } from '../../http/operator/restore/after-restore-record'
import { askServer, readFromServer, saveFromServer, UsageError } from '../control-client'
import { asJson, count, usdText } from '../print'
import { table } from '../table'

export const MONEY_HELP = `  after-restore [--taken-at TIME] [--lost DATABASE] [--disable-keys] [--apply]
                                            list what needs a look after data was restored from an older copy; with --apply,
                                            end all sessions and book what is missing. --lost is the database file that was
                                            lost, if it can be read: keys and accounts that were stopped since are stopped
                                            again. --disable-keys disables every key; its owner can enable it. --taken-at
                                            says when the copy was taken of a database that its server restored
  revenue [--by day|operation|model|account|rail] [--from DAY] [--to DAY] [--csv]
                                            show what calls brought in and cost, credit given and used, and what is owed to
                                            customers; defaults to the last 30 days (days are UTC)
  books MONTH [--entries]                   print the books of a month such as 2026-11 as CSV: what each ledger account had,
                                            gave, got and has, by UTC day; with --entries, every entry between opening and
                                            closing balances
  statement MONTH [--csv]                   show what each ledger account had, got and has; with --csv, also of each customer
                                            both also take --from TIME --to TIME in place of MONTH, and --timezone ZONE;
                                            --out FILE writes the CSV to FILE, which has its name once it is complete
  reconcile [--apply] [--from TIME] [--to TIME]
                                            compare the ledger with itself, the card processor and the chains, and list what
                                            does not agree; with --apply, book it
  reconcile --history                       show the last comparisons, also the daily ones, and what waits for a decision`

interface Options {
  readonly apply?: boolean | undefined
  readonly 'taken-at'?: string | undefined
  readonly by?: string | undefined
  readonly 'disable-keys'?: boolean | undefined
  readonly lost?: string | undefined
  readonly csv?: boolean | undefined
  readonly entries?: boolean | undefined
  readonly history?: boolean | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly timezone?: string | undefined
  readonly json?: boolean | undefined
  readonly out?: string | undefined
}

/** Takes the pieces of a file. */
export type Out = (text: string) => void
type Run = (args: readonly string[], options: Options, out: Out) => Promise<string>

const COMMANDS: Readonly<Record<string, Run>> = {
  revenue: async (args, { by, from, to, csv, json, out: file }, out) => {
    if (args.length > 0) throw new UsageError('"operator revenue" takes options only, such as --by model; see --help')
    const query = {
      ...(by !== undefined && { group_by: by }),
      ...(from !== undefined && { from }),
      ...(to !== undefined && { to }),
    }
    if (csv) return fileFrom('revenue-csv', query, { file, out, end: null })
    const answer = await askServer('revenue', query)
    return json ? asJson(answer) : revenue(answer as Revenue)
  },
  books: async (args, options, out) =>
    fileFrom(
      'books',
      { ...periodOf('books', args, options), ...(options.entries && { entries: true }) },
      { file: options.out, out, end: 'total,' },
    ),
  statement: async (args, options, out) => {
    const period = periodOf('statement', args, options)
    if (options.csv) return fileFrom('statement-csv', period, { file: options.out, out, end: 'total,' })
    const answer = await askServer('statement', period)
    return options.json ? asJson(answer) : statement(answer as BookStatement)
  },
  'after-restore': async (args, { apply, lost, 'taken-at': taken, 'disable-keys': disable, json }) => {
    if (args.length > 0) throw new UsageError('"operator after-restore" takes options only; see --help')
    const form = {
      apply: apply === true,
      disable_keys: disable === true,
      ...(taken !== undefined && { taken_at: taken }),
      ...(lost !== undefined && { lost_database: resolve(lost) }),
    }
    const answer = await askServer('after-restore', form satisfies AfterRestoreCommand)
    return json ? asJson(answer) : restored(answer as AfterRestore)
  },
  reconcile: async (args, { apply, from, to, history, json }) => {
    if (args.length > 0) throw new UsageError('"operator reconcile" takes options only; see --help')
    if (history) {
      const answer = await askServer('reconciliations', {})
      return json ? asJson(answer) : runs(answer as Reconciliations)
    }
    const form = { apply: apply === true, ...(from !== undefined && { from }), ...(to !== undefined && { to }) }
    const answer = await askServer('reconcile', form satisfies ReconcileForm)
    return json ? asJson(answer) : reconciled(answer as Reconciled)
  },
}

/** Prints a file, or writes it to the one that `--out` names. */
async function fileFrom(
  command: string,
  query: Readonly<Record<string, unknown>>,
  { file, out, end }: { readonly file: string | undefined; readonly out: Out; readonly end: string | null },
): Promise<string> {
  if (file !== undefined) return saveFromServer(command, query, file, end)
  await readFromServer(command, query, out, end)
  return ''
}

/** Runs a command about the money of the whole gateway. Null for other commands. */
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
    ...[name, row.calls, usdText(row.revenue_micros_usd), usdText(row.refunded_micros_usd)],
    ...[usdText(row.upstream_cost_micros_usd), row.unknown_cost_calls, usdText(row.margin_micros_usd)],
  ]
  const columns = [shown.group_by.toUpperCase(), 'CALLS', 'REVENUE USD', 'REFUNDED', 'COST', 'COST UNKNOWN', 'MARGIN']
  return [
    table(columns, [...rows.map((row) => line(row.email ?? (row.name || '-'), row)), line('total', totals)]),
    shown.rows_left_out > 0 ? `Not shown: ${count(shown.rows_left_out, 'more row')}. --csv has all.\n` : '',
    `Credit: ${usdText(credit.signup_credit_given_micros_usd)} USD at sign-up and ${usdText(credit.grants_given_micros_usd)} granted,`,
    ` ${usdText(credit.debited_micros_usd)} taken back, ${usdText(credit.used_micros_usd)} used (part of the revenue).\n`,
    `Overruns: ${usdText(shown.overruns_micros_usd)} USD. Owed to customers on ${shown.to}: ${usdText(shown.owed_to_customers_micros_usd)} USD.\n`,
  ].join('')
}

function statement({ from, to, accounts, kinds, entries, owed_to_customers_micros_usd: owed }: BookStatement): string {
  const balances = table(
    ['ACCOUNT', 'OPENING USD', 'DEBITS', 'CREDITS', 'CLOSING USD'],
    accounts.map((row) => [
      row.account,
      usdText(row.opening_micros_usd),
      usdText(row.debits_micros_usd),
      usdText(row.credits_micros_usd),
      usdText(row.closing_micros_usd),
    ]),
  )
  const sums = table(
    ['KIND', 'ENTRIES', 'USD'],
    kinds.map((sum) => [sum.kind, sum.entries, usdText(sum.amount_micros_usd)]),
  )
  return `${from} to ${to}: ${count(entries, 'entry', 'entries')}\n\n${balances}\n${sums}\nCustomers can still spend ${usdText(owed)} USD.\n`
}

function restored({ restored: from, applied, keys, lost, reconciled: found, ...counts }: AfterRestore): string {
  const lines = [
    from.copy === null
      ? `The data is a copy of ${from.taken_at}.`
      : `The data is a copy of ${from.taken_at} (${from.copy}), restored at ${from.restored_at}.`,
    ...(applied
      ? [`Ended ${count(counts.ended_sessions, 'session')}. Disabled ${count(counts.disabled_keys, 'key')}.`]
      : []),
    ...(lost
      ? [
          `Since the copy: ${count(lost.keys.length, 'key')} revoked or disabled, ${count(lost.suspensions.length, 'account')} suspended.`,
          ...lost.keys.map(
            ({ id, account, action, done }) => `  - ${action} ${id} of ${account}${done ? ': done' : ''}`,
          ),
          ...lost.suspensions.map(({ account, done }) => `  - suspend ${account}${done ? ': done' : ''}`),
          `Made since, and unknown here: ${count(lost.new_keys, 'key')}, ${count(lost.new_accounts, 'account')}.`,
        ]
      : [
          'Keys revoked after the copy work again. To list them, pass the lost database with --lost.',
          `Working: ${count(counts.live_keys, 'key')}${counts.live_keys > keys.length ? '; the oldest' : ''}:`,
          ...keys.map(({ id, account, shown, name }) => `  - ${id}  ${shown}  ${account}  ${name}`),
        ]),
    '',
  ]
  const last = from.checked_at
    ? `Checked at ${from.checked_at}.\n`
    : 'Nobody has completed this check yet: run it with --apply.\n'
  return lines.join('\n') + reconciled(found) + last
}

function reconciled({ ledger, missing, booked, cards, chain, complete }: Reconciled): string {
  const lines = [
    ledger.length === 0 ? 'The ledger agrees with itself.' : 'The ledger does not agree with itself:',
    ...ledger.map(({ what, subject, one, other }) => `  - ${what}: ${subject} (${one} and ${other})`),
    missing.length === 0 ? 'No payment page is missing.' : 'Payment pages that are unknown here:',
    ...missing.map(
      (page) =>
        `  - ${page.page}: ${usdText(page.amount_micros_usd)} USD, ${page.state}, ${page.account ?? 'no account'}${page.bookable ? '' : ' (cannot be booked)'}`,
    ),
    ...(cards ? cardLines(cards) : []),
    ...(chain ? chainLines(chain) : []),
    ...(booked > 0 ? [`Booked ${count(booked, 'missing top-up')}.`] : []),
    ...(complete ? [] : ['The card processor or a node did not answer, or the period is too long; run it again.']),
  ]
  return `${lines.join('\n')}\n`
}

function cardLines({
  from,
  to,
  compared,
  differences,
  corrected,
}: NonNullable<Reconciled['cards']>): readonly string[] {
  const span = `${count(compared, 'card payment')} (${from.slice(0, 10)} to ${to.slice(0, 10)})`
  return [
    differences.length === 0
      ? `Compared with the processor: ${span}. All agree.`
      : `Compared with the processor: ${span}. These differ:`,
    ...differences.map(
      (one) =>
        `  - ${one.what} ${one.id} of ${one.payment}: ${usdText(one.at_processor_micros_usd)} USD at the processor, ${usdText(one.here_micros_usd)} here`,
    ),
    ...(corrected > 0 ? [`Corrected ${count(corrected, 'payment')}.`] : []),
  ]
}

function chainLines({ payments, transfers, problems, booked }: NonNullable<Reconciled['chain']>): readonly string[] {
  const span = `Compared with the chains: ${count(payments, 'payment')} by wallet, ${count(transfers, 'transfer')}.`
  return [
    problems.length === 0 ? `${span} All agree.` : `${span} These differ:`,
    ...problems.map(
      (one) =>
        `  - ${one.kind}: ${one.payment ?? one.payer ?? '-'} ${one.reference ?? ''} (${usdText(one.on_chain_micros_usd)} USD on the chain, ${usdText(one.here_micros_usd)} here)`,
    ),
    ...(booked > 0 ? [`Booked ${count(booked, 'late payment')}.`] : []),
  ]
}

function runs({ runs: listed, unknown_pages: unknown }: Reconciliations): string {
  const rows = listed.map((run) => [
    ...[run.started_at, run.actor, run.applied ? 'yes' : 'no', run.complete ? 'yes' : 'no', run.problems],
  ])
  const waiting = unknown.map(
    ({ page, payment, messages, first_at: at }) =>
      `  - ${page} (${payment ?? 'no top-up'}), ${count(messages, 'message')} since ${at}`,
  )
  const pages = waiting.length === 0 ? '' : `\nPayment pages that are unknown here:\n${waiting.join('\n')}\n`
  return (
    (rows.length === 0
      ? 'No comparison has run yet.\n'
      : table(['STARTED', 'BY', 'APPLIED', 'COMPLETE', 'PROBLEMS'], rows)) + pages
  )
}
