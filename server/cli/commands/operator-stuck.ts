import type { OneStuck, StuckListCommand, StuckPage } from '../../http/operator/money/stuck-record'
import { askServer, UsageError } from '../control-client'
import { asJson, usdText } from '../print'
import { table } from '../table'
import { moreRows } from './operator-views'

export const STUCK_HELP = `  stuck list                                list records of the ledger that the tables refuse, oldest first, 50 at a time; calls of
                                            their accounts get 503 until each is decided
  stuck show ID                             show one
  stuck retry ID                            book it, once its cause is fixed
  stuck discard ID --note TEXT              do not charge it: what its caller was served becomes an overrun, which the gateway bears`

interface Options {
  readonly json?: boolean | undefined
  readonly note?: string | undefined
  readonly limit?: string | undefined
  readonly cursor?: string | undefined
}

const DONE: Readonly<Record<string, string>> = { retry: 'Booked', discard: 'Discarded' }

/** Runs a command about stuck records. Resolves to its output. */
export async function stuckCommand(
  [command = '', id, ...rest]: readonly string[],
  { json, note, limit, cursor }: Options,
): Promise<string> {
  if (command === 'list') {
    if (id !== undefined) throw new UsageError('"operator stuck list" takes options only; see --help')
    const asked = { ...(limit !== undefined && { limit: Number(limit) }), ...(cursor !== undefined && { cursor }) }
    const page = await askServer('stuck-list', asked satisfies StuckListCommand)
    return json ? asJson(page) : stuckList(page as StuckPage)
  }
  if (!['show', 'retry', 'discard'].includes(command))
    throw new UsageError('"operator stuck" takes list, show, retry or discard; see --help')
  if (id === undefined || rest.length > 0) throw new UsageError(`"operator stuck ${command}" takes one id; see --help`)
  if (command === 'discard' && note === undefined)
    throw new UsageError('"operator stuck discard" needs --note TEXT, which the audit log keeps')
  const answer = await askServer(`stuck-${command}`, { id, ...(command === 'discard' && { note }) })
  if (json) return asJson(answer)
  const done = DONE[command]
  return (done === undefined ? '' : `${done}:\n`) + stuckText(answer as OneStuck)
}

function stuckList({ records, next_cursor: next }: StuckPage): string {
  if (records.length === 0) return 'No record is stuck.\n'
  const rows = records.map((one) => [
    ...[one.id, one.at, one.account ?? '-', one.kind, usdText(one.amount_micros_usd)],
    ...[one.due ? 'retry or discard' : 'discard', one.reason],
  ])
  const columns = ['RECORD', 'MADE AT', 'ACCOUNT', 'KIND', 'USD', 'CAN', 'REASON']
  return table(columns, rows) + (next === null ? '' : moreRows(next))
}

function stuckText(one: OneStuck): string {
  return [
    `${one.id}, made at ${one.at}`,
    `  account    ${one.account ?? '-'}`,
    `  call       ${one.request_id ?? '-'} ${one.operation ?? ''}`.trimEnd(),
    `  ${one.kind.padEnd(9)}  ${usdText(one.amount_micros_usd)} USD`,
    `  refused    ${one.reason}`,
    one.due ? '' : '  its caller got a 503 and was not charged: there is nothing to book\n',
  ]
    .join('\n')
    .replace(/\n*$/, '\n')
}
