import type {
  AccountsAndPrices,
  ApproveCommand,
  DeclineCommand,
  GrantCommand,
  LimitRequestsCommand,
  LimitsCommand,
  ListCommand,
  MaxKeysCommand,
  NewPrice,
  OneOperatorAccount,
  OneOperatorLimitRequest,
  OperatorAccount,
  OperatorLimitRequest,
  OperatorLimitRequestPage,
  OperatorPrice,
  Publication,
  ResetLink,
  ResetLinkCommand,
  ResetSecondFactorCommand,
  SecondFactorReset,
  SetOperatorPrice,
} from '../../http/operator/record'
import { parsedArgsWith } from '../command'
import { askServer, CommandRefused, UsageError } from '../control-client'
import { asJson, count } from '../print'
import { PROGRAM } from '../program'
import { table } from '../table'
import { API_HELP, API_LEGEND, apiCommand, applyCommand, type Confirm } from './operator-api'
import { BACKUP_HELP, backupCommand, type Tell } from './operator-backup'
import { CUSTOMER_HELP, customerCommand } from './operator-customer'
import { MODEL_HELP, modelCommand } from './operator-model'
import { MONEY_HELP, moneyCommand, type Out } from './operator-money'
import { STUCK_HELP, stuckCommand } from './operator-stuck'
import { customerViewCommand, moreRows, VIEWS_HELP } from './operator-views'
import { OPERATOR_WEBHOOK_HELP, OPERATOR_WEBHOOKS_USAGE, operatorWebhookCommand } from './webhooks'

const COMMANDS_HELP = `  list [TEXT]                               list accounts and prices, or find accounts by email, name, key, or the id of an
                                            account, key, request or payment; newest first, 50 at a time
${VIEWS_HELP}
${CUSTOMER_HELP}
${MONEY_HELP}
${STUCK_HELP}
  grant ACCOUNT USD [--note TEXT] [--reference TEXT]
                                            add credit; a reference is never booked twice
  limits ACCOUNT RPM TPM CONCURRENCY        set custom limits (Enterprise)
  limits ACCOUNT --none                     remove custom limits
  keys ACCOUNT NUMBER                       set the maximum number of live keys
  keys ACCOUNT --none                       restore the default maximum
  price OPERATION USD [--account ACCOUNT]   set the price of a unit, such as 0.004, for everyone or one account
  price OPERATION --none [--account ACCOUNT]
                                            restore the default price
  ready                                     show whether calls can be served and charged, and the state of each provider
  publish check                             show what directories of tools and paid APIs would list, and why not
  requests                                  list pending requests for higher limits, newest first, 50 at a time
  approve REQUEST [--reason TEXT]           move the account to Growth
  approve REQUEST RPM TPM CONCURRENCY [--reason TEXT]
                                            give the account custom limits instead
  decline REQUEST --reason TEXT             decline a request; the owner sees the reason
${MODEL_HELP}
${API_HELP}
${OPERATOR_WEBHOOK_HELP}
${BACKUP_HELP}
  reset-link ACCOUNT                        print a link to set a new password, valid once within an hour
  reset-second-factor ACCOUNT               remove the authenticator app, recovery codes and passkeys of an owner who
                                            lost them, and end their sessions; the owner is notified`

const ACCOUNT_IS = 'ACCOUNT is an id (acct_...) or a confirmed email address.'
const OPERATION_IS = 'OPERATION is the name of a price, such as image-search.'

const OPERATOR_HELP = `Usage: ${PROGRAM} operator COMMAND

Manages the server that runs on DATA_DIR (default: data).

${COMMANDS_HELP}

${ACCOUNT_IS} ${OPERATION_IS}

  --limit N      of a list: rows per page, 1 to 200
  --cursor TEXT  of a list: the page after the one that ended with this cursor
  --json         print the response as JSON
  --help         print this help

Exit codes: 0 success, 1 refused by the server, 2 wrong usage (nothing was sent).
`

/** Runs an operator command. Resolves to its output; files go to `out` piece by piece, and progress to `tell`. */
export async function operatorCommand(
  args: readonly string[],
  ask: Confirm,
  out: Out,
  tell: Tell = () => undefined,
): Promise<string> {
  const [group, ...others] = args
  const helps = args.includes('--help') || args.includes('-h')
  if (group === 'api' && !helps) return apiCommand(others, ask)
  if (group === 'apply' && !helps) return applyCommand(others, ask)
  if (group === 'webhooks') return helps ? OPERATOR_WEBHOOKS_USAGE : operatorWebhookCommand(others)
  if (group === 'customer') return customerViewCommand(others)
  if (helps) return helpOf(args.filter((arg) => !arg.startsWith('-')))
  const { values, positionals } = parsed(args)
  const [command, ...rest] = positionals
  if (values.help || !command) return OPERATOR_HELP
  if (command === 'model') return modelCommand(rest, values.json === true)
  if (command === 'stuck') return stuckCommand(rest, values)
  if (command === 'backup') return backupCommand(rest, values, tell)
  if (command === 'restore' || command === 'archive')
    throw new UsageError(`"operator ${command}" needs the gateway itself, as "gateway-server" or in its folder`)
  const ofCustomer = customerCommand(command, rest, values)
  if (ofCustomer !== null) return ofCustomer
  const ofMoney = moneyCommand(command, rest, values, out)
  if (ofMoney !== null) return ofMoney
  const body = bodyOf(command, rest, values)
  const answer = await askServer(command, body)
  // Its exit code is what a supervisor asks for.
  if (command === 'ready' && (answer as { status?: unknown }).status !== 'ready')
    throw new CommandRefused(asJson(answer).trimEnd())
  if (values.json || command === 'ready') return asJson(answer)
  if (command === 'publish') return publication(answer as Publication)
  if (command === 'list') return listing(answer as AccountsAndPrices)
  if (command === 'keys') return keysLine((answer as OneOperatorAccount).account)
  if (command === 'price') return setPriceLine(answer as SetOperatorPrice)
  if (command === 'reset-link') return `${(answer as ResetLink).link}\n`
  if (command === 'reset-second-factor')
    return `The password alone signs ${(answer as SecondFactorReset).email} in again. All sessions were signed out.\n`
  if (command === 'requests') return requestPage(answer as OperatorLimitRequestPage)
  if (command === 'approve' || command === 'decline') return requestTable([(answer as OneOperatorLimitRequest).request])
  return accountTable([(answer as OneOperatorAccount).account])
}

/** The help of one command, or of all if it is none: its lines of the list, and what their words mean. */
function helpOf([command, second = '']: readonly string[]): string {
  const entries = COMMANDS_HELP.split(/\n+(?= {2}\S)/)
  const wordsOf = (entry: string) => entry.trim().split(/\s+/)
  const all = entries.filter((entry) => wordsOf(entry)[0] === command)
  if (all.length === 0) return OPERATOR_HELP
  const named = all.filter((entry) => wordsOf(entry)[1]?.split('|').includes(second))
  const shown = (named.length > 0 ? named : all).join('\n')
  const legends = [
    ...(/ ACCOUNT\b/.test(shown) ? [ACCOUNT_IS] : []),
    ...(/ OPERATION\b/.test(shown) ? [OPERATION_IS] : []),
    ...(/ AUTH\b|PRICE\b/.test(shown) ? [API_LEGEND] : []),
  ]
  const usage = `Usage: ${PROGRAM} operator ${command} ...\n\n${shown}\n`
  return [usage, ...legends.map((legend) => `${legend}\n`), `"${PROGRAM} operator --help" lists all commands.\n`].join(
    '\n',
  )
}

function parsed(args: readonly string[]) {
  return parsedArgsWith(args, {
    account: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
    json: { type: 'boolean' },
    none: { type: 'boolean' },
    note: { type: 'string' },
    reference: { type: 'string' },
    reason: { type: 'string' },
    yes: { type: 'boolean' },
    apply: { type: 'boolean' },
    by: { type: 'string' },
    history: { type: 'boolean' },
    lost: { type: 'string' },
    'taken-at': { type: 'string' },
    'disable-keys': { type: 'boolean' },
    csv: { type: 'boolean' },
    entries: { type: 'boolean' },
    out: { type: 'string' },
    from: { type: 'string' },
    to: { type: 'string' },
    timezone: { type: 'string' },
    verify: { type: 'boolean' },
    limit: { type: 'string' },
    cursor: { type: 'string' },
  })
}

type Options = ReturnType<typeof parsed>['values']
type Body = Readonly<Record<string, unknown>>

/** The body of a command. The server validates its values; only their number is checked here. */
function bodyOf(command: string, rest: readonly string[], options: Options): Body {
  const { account, note, reference, reason } = options
  const [first = '', second = '', third, fourth] = rest
  const expect = (wanted: number) => {
    if (rest.length !== wanted)
      throw new UsageError(`"operator ${command}" takes ${count(wanted, 'argument')} here; see --help`)
  }
  const limits = { rpm: Number(second), tpm: Number(third), concurrency: Number(fourth) }
  switch (command) {
    case 'list':
      expect(rest.length === 0 ? 0 : 1)
      return { ...(rest.length > 0 && { search: first }), ...pageOf(options) } satisfies ListCommand
    case 'grant':
      expect(2)
      return { account: first, usd: second, ...given({ note, reference }) } satisfies GrantCommand
    case 'limits':
      expect(options.none ? 1 : 4)
      return { account: first, limits: options.none ? null : limits } satisfies LimitsCommand
    case 'keys':
      expect(options.none ? 1 : 2)
      return { account: first, keys: options.none ? null : Number(second) } satisfies MaxKeysCommand
    case 'price':
      expect(options.none ? 1 : 2)
      return {
        operation: first as NewPrice['operation'], // the server validates it
        usd: options.none ? null : second,
        ...given({ account }),
      } satisfies NewPrice
    case 'publish':
      if (first !== 'check') throw new UsageError('"operator publish" takes "check"; see --help')
      expect(1)
      return {}
    case 'ready':
      expect(0)
      return {}
    case 'requests':
      expect(0)
      return pageOf(options) satisfies LimitRequestsCommand
    case 'approve':
      expect(rest.length === 1 ? 1 : 4)
      return { request: first, ...given({ reason }), ...(rest.length > 1 && { limits }) } satisfies ApproveCommand
    case 'reset-link':
      expect(1)
      return { account: first } satisfies ResetLinkCommand
    case 'reset-second-factor':
      expect(1)
      return { account: first } satisfies ResetSecondFactorCommand
    case 'decline':
      expect(1)
      return { request: first, ...given({ reason }) } satisfies Partial<DeclineCommand>
    default:
      throw new UsageError(`unknown operator command "${command}"; see --help`)
  }
}

/** The page of a list that is asked for. */
function pageOf({ limit, cursor }: Options) {
  return { ...(limit !== undefined && { limit: Number(limit) }), ...given({ cursor }) }
}

/** The options that were given. */
function given<K extends string>(options: { readonly [N in K]: string | undefined }): { readonly [N in K]?: string } {
  const there = Object.entries(options).filter(([, value]) => value !== undefined)
  return Object.fromEntries(there) as { readonly [N in K]?: string } // the loop loses the names
}

function listing({ accounts, prices, next_cursor: next }: AccountsAndPrices): string {
  if (accounts.length === 0) return 'No accounts yet. The gateway prints at startup how to become its operator.\n'
  const overrides = prices.filter((price) => price.usd !== null)
  const priced = overrides.length > 0 ? `\n${overrides.map(priceLine).join('\n')}\n` : ''
  return accountTable(accounts) + priced + (next === null ? '' : moreRows(next))
}

function requestPage({ requests, next_cursor: next }: OperatorLimitRequestPage): string {
  return requestTable(requests) + (next === null ? '' : moreRows(next))
}

function publication({ directories, server_json }: Publication): string {
  const parts = directories.map(({ directory, lists, problems }) => {
    const state = problems.length === 0 ? 'would be listed' : 'would not be listed'
    return [`${directory}: ${state}`, ...[...lists, ...problems].map((line) => `  - ${line}`)].join('\n')
  })
  return `${parts.join('\n')}\n\nserver.json for the MCP registry (publish it with mcp-publisher):\n${asJson(server_json)}`
}

function accountTable(accounts: readonly OperatorAccount[]): string {
  return table(
    ['ACCOUNT', 'EMAIL', 'TIER', 'RPM', 'TPM', 'CONCURRENCY', 'BALANCE USD'],
    accounts.map((account) => [
      account.id,
      [account.email ?? '-', account.role && `(${account.role})`, account.suspension && '(suspended)']
        .filter(Boolean)
        .join(' '),
      account.tier,
      account.limits.rpm,
      account.limits.tpm,
      account.limits.concurrency,
      account.balance_usd,
    ]),
  )
}

function requestTable(requests: readonly OperatorLimitRequest[]): string {
  if (requests.length === 0) return 'No pending requests.\n'
  return table(
    ['REQUEST', 'ACCOUNT', 'EMAIL', 'STATUS', 'PEAK RPM', 'PEAK TPM', 'ENDPOINTS', 'USE CASE'],
    requests.map((request) => [
      request.id,
      request.workspace_id,
      request.email ?? '-',
      request.status,
      request.peak_rpm,
      request.peak_tpm,
      request.endpoints.join(' '),
      request.use_case.replace(/\s+/g, ' '),
    ]),
  )
}

function keysLine({ id, most_keys: maxKeys }: OperatorAccount): string {
  return `${id} may have up to ${count(maxKeys, 'live key')}\n`
}

/** A restored price says what it is; an older server does not. */
function setPriceLine(set: SetOperatorPrice): string {
  const isShown = set.usd === null && typeof set.now_usd === 'string'
  return `${priceLine(set)}${isShown ? `: ${set.now_usd} USD` : ''}\n`
}

function priceLine({ operation, account, usd }: OperatorPrice): string {
  return `${operation} costs ${usd === null ? 'the default price' : `${usd} USD`} for ${account ?? 'every account'}`
}
