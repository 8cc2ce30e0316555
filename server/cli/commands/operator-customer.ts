import type {
  AccountCommand,
  CustomerDetails,
  DebitCommand,
  EndedSessions,
  EraseCommand,
  ErasedAccount,
  NoteCommand,
  OneRefund,
  Refund,
  RefundCommand,
  RefundList,
  RoleCommand,
  SuspendCommand,
} from '../../http/operator/customers/customer-record'
import type { OneOperatorAccount } from '../../http/operator/record'
import { askServer, UsageError } from '../control-client'
import { asJson, count } from '../print'
import { table } from '../table'

export const CUSTOMER_HELP = `  show ACCOUNT                              show an account: balance, why it gets a 402, notes
  suspend ACCOUNT --reason TEXT             refuse its keys, apps and sessions from the next request on; the owner sees
                                            the reason, and the money stays
  lift ACCOUNT --reason TEXT                lift the suspension
  key ACCOUNT KEY disable|enable|revoke     stop one key, such as one that leaked; "list gwk_Ab12" finds its account
  end-sessions ACCOUNT                      sign the owner out everywhere
  note ACCOUNT TEXT                         leave a note for colleagues; the owner never sees it
  role ACCOUNT operator|support             make an account operator or support (support: no money, prices or secrets)
  role ACCOUNT --none                       take the role away; one operator always stays
  debit ACCOUNT USD --note TEXT [--reference TEXT]
                                            take money from what is available, such as a wrong grant; never below zero
  refund ACCOUNT PAYMENT|REQUEST [USD] --note TEXT [--reference TEXT]
                                            send a card payment (pay_...) back through its processor, or give back what a
                                            call (req_...) was charged; without USD all of it
  refunds ACCOUNT                           list its newest card refunds and what became of them
  export ACCOUNT                            print all data about an account as JSON, for its owner
  erase ACCOUNT_ID --yes                    close an account for good: keys, sessions and personal data go, the books stay`

interface Options {
  readonly reason?: string | undefined
  readonly note?: string | undefined
  readonly reference?: string | undefined
  readonly none?: boolean | undefined
  readonly yes?: boolean | undefined
  readonly json?: boolean | undefined
}

type Run = (args: readonly string[], options: Options) => Promise<string>

const COMMANDS: Readonly<Record<string, Run>> = {
  show: async (args, options) => {
    const [account = ''] = words('show', args, 1)
    const answer = await askServer('show', { account } satisfies AccountCommand)
    return options.json ? asJson(answer) : details(answer as CustomerDetails)
  },
  suspend: (args, options) => changed('suspend', args, options),
  lift: (args, options) => changed('lift', args, options),
  role: async (args, { none, json }) => {
    const [account = '', role = null] = words('role', args, none ? 1 : 2)
    const answer = await askServer('role', { account, role: role as RoleCommand['role'] } satisfies RoleCommand)
    return json ? asJson(answer) : `${account} is now ${role ?? 'a customer without a role'}.\n`
  },
  key: async (args, { json }) => {
    const [account, key = '', action] = words('key', args, 3)
    const answer = await askServer('key', { account, key, action })
    return json ? asJson(answer) : `${key} is now ${(answer as { key: { status: string } }).key.status}.\n`
  },
  'end-sessions': async (args, { json }) => {
    const [account = ''] = words('end-sessions', args, 1)
    const answer = await askServer('end-sessions', { account } satisfies AccountCommand)
    return json ? asJson(answer) : `Signed out ${count((answer as EndedSessions).ended, 'session')}.\n`
  },
  note: async (args, { json }) => {
    const [account = '', text = ''] = words('note', args, 2)
    const answer = await askServer('note', { account, text } satisfies NoteCommand)
    return json ? asJson(answer) : 'The note was saved.\n'
  },
  debit: async (args, { note, reference, json }) => {
    const [account = '', usd = ''] = words('debit', args, 2)
    if (note === undefined) throw new UsageError('"operator debit" needs --note TEXT, which the owner reads')
    const body: DebitCommand = { account, usd, note, ...(reference !== undefined && { reference }) }
    const answer = await askServer('debit', body)
    const { balance_usd: balance } = (answer as OneOperatorAccount).account
    return json ? asJson(answer) : `Took ${usd} USD. The balance is ${balance} USD.\n`
  },
  refund: async (args, { note, reference, json }) => {
    const [account = '', payment = '', usd] = words('refund', args, args.length === 3 ? 3 : 2)
    if (note === undefined) throw new UsageError('"operator refund" needs --note TEXT, which the owner reads')
    const given = { ...(usd !== undefined && { usd }), ...(reference !== undefined && { reference }) }
    const answer = await askServer('refund', { account, payment, note, ...given } satisfies RefundCommand)
    return json ? asJson(answer) : refundTable([(answer as OneRefund).refund])
  },
  refunds: async (args, { json }) => {
    const [account = ''] = words('refunds', args, 1)
    const answer = await askServer('refunds', { account } satisfies AccountCommand)
    const { refunds, next_cursor: next } = answer as RefundList
    if (json) return asJson(answer)
    return refundTable(refunds) + (next === null ? '' : 'There are more: "operator customer refunds" has all.\n')
  },
  export: async (args) => {
    const [account = ''] = words('export', args, 1)
    return asJson(await askServer('export', { account } satisfies AccountCommand))
  },
  erase: async (args, { yes, json }) => {
    const [account = ''] = words('erase', args, 1)
    if (!yes)
      throw new UsageError('"operator erase" cannot be undone. Export the data first, then repeat it with --yes')
    const answer = await askServer('erase', { account, confirm: account } satisfies EraseCommand)
    return json ? asJson(answer) : erased(answer as ErasedAccount)
  },
}

/** Runs a command about one customer. Null for other commands. */
export function customerCommand(name: string, args: readonly string[], options: Options): Promise<string> | null {
  return Object.hasOwn(COMMANDS, name) ? (COMMANDS[name]?.(args, options) ?? null) : null
}

/** The words of a command, exactly as many as it takes. */
function words(command: string, args: readonly string[], wanted: number): readonly string[] {
  if (args.length !== wanted)
    throw new UsageError(`"operator ${command}" takes ${count(wanted, 'argument')} here; see --help`)
  return args
}

async function changed(command: 'suspend' | 'lift', args: readonly string[], options: Options): Promise<string> {
  const [account = ''] = words(command, args, 1)
  const { reason } = options
  if (reason === undefined) throw new UsageError(`"operator ${command}" needs --reason TEXT, which the owner reads`)
  const answer = await askServer(command, { account, reason } satisfies SuspendCommand)
  return options.json ? asJson(answer) : `${account} ${command === 'suspend' ? 'is suspended' : 'works again'}.\n`
}

const MICROS = 1_000_000

function details(shown: CustomerDetails): string {
  const { account, why_402: why, last_402: refused, notes } = shown
  const usd = (micros: number) => `${micros / MICROS} USD`
  const lines = [
    `${account.id}  ${account.email ?? '(closed)'}${shown.email_confirmed ? '' : ' (not confirmed)'}  ${account.name ?? ''}`,
    `tier ${account.tier}${account.role ? `, ${account.role}` : ''}, since ${account.created_at}`,
    `balance ${usd(shown.balance_micros_usd)}: credit ${usd(shown.credit_micros_usd)}, paid ${usd(shown.paid_micros_usd)}, owed ${usd(shown.debt_micros_usd)}`,
    `each key ${account.limits.rpm} requests and ${account.limits.tpm} tokens per minute, ${account.limits.concurrency} at once; at most ${count(account.most_keys, 'key')}`,
    `available ${usd(shown.available_micros_usd)}, held ${usd(shown.held_micros_usd)}, topped up ${usd(shown.topped_up_micros_usd)}`,
    ...(account.suspension ? [`SUSPENDED since ${account.suspension.since}: ${account.suspension.reason}`] : []),
    ...(why.length > 0 ? ['', 'Why paid calls get a 402 now:', ...why.map((reason) => `  - ${reason}`)] : []),
    ...(refused.length > 0
      ? [
          '',
          'Last 402s:',
          ...refused.map((call) => `  ${call.at}  ${call.request_id}  ${call.operation}  ${call.code}`),
        ]
      : []),
    ...(notes.length > 0
      ? ['', 'Notes:', ...notes.map((note) => `  ${note.at}  ${note.author ?? 'console'}: ${note.text}`)]
      : []),
  ]
  return `${lines.join('\n')}\n`
}

function erased({ id, forfeited_micros_usd: forfeited, erased: gone, kept }: ErasedAccount): string {
  const list = (items: readonly string[]) => items.map((item) => `  - ${item}`).join('\n')
  return `${id} is closed. Forfeited: ${forfeited / MICROS} USD.\nErased:\n${list(gone)}\nKept:\n${list(kept)}\n`
}

export function refundTable(refunds: readonly Refund[]): string {
  if (refunds.length === 0) return 'No card refunds.\n'
  return table(
    ['REFUND', 'OF', 'USD', 'STATE', 'AT PROCESSOR', 'NOTE'],
    refunds.map((one) => [
      one.id ?? '-',
      one.payment,
      String(one.amount_micros_usd / MICROS),
      one.state,
      one.processor_id ?? one.error ?? '-',
      one.note,
    ]),
  )
}
