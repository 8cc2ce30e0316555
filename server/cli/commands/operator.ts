import { parseArgs } from 'node:util'
import { askServer, Misused } from '../control-client'
import { asJson } from '../print'
import { table } from '../table'
import { MODEL_HELP, modelCommand } from './operator-model'

const OPERATOR_HELP = `Usage: bun run gateway operator COMMAND

Manages the server that runs on DATA_DIR (default: data).

  list [TEXT]                               list accounts and prices, or find accounts by id, email or name
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
  requests                                  list pending requests for higher limits
  approve REQUEST [--reason TEXT]           move the account to Growth
  approve REQUEST RPM TPM CONCURRENCY [--reason TEXT]
                                            give the account custom limits instead
  decline REQUEST --reason TEXT             decline a request; the owner sees the reason
${MODEL_HELP}
  reset-link ACCOUNT                        print a link to set a new password, valid once within an hour

ACCOUNT is an id (acct_...) or a confirmed email address. OPERATION is the name of a price, such as image-search.

  --json   print the response as JSON
  --help   print this help

Exit codes: 0 success, 1 refused by the server, 2 wrong usage (nothing was sent).
`

interface AccountLine {
  readonly id: string
  readonly email: string | null
  readonly operator: boolean
  readonly tier: string
  readonly limits: { readonly rpm: number; readonly tpm: number; readonly concurrency: number }
  readonly most_keys: number
  readonly balance_usd: string
}
interface PriceLine {
  readonly operation: string
  readonly account: string | null
  readonly usd: string | null
}

interface RequestLine {
  readonly id: string
  readonly workspace_id: string
  readonly email: string | null
  readonly status: string
  readonly peak_rpm: number
  readonly peak_tpm: number
  readonly endpoints: readonly string[]
  readonly use_case: string
}

/** Runs an operator command. Resolves to its output. */
export async function operatorCommand(args: readonly string[]): Promise<string> {
  const { values, positionals } = parsed(args)
  const [command, ...rest] = positionals
  if (values.help || !command) return OPERATOR_HELP
  if (command === 'model') return modelCommand(rest, values.json === true)
  const body = bodyOf(command, rest, values)
  const answer = await askServer(command, body)
  if (values.json || command === 'ready') return asJson(answer)
  if (command === 'list') return listing(answer as { accounts: AccountLine[]; prices: PriceLine[] })
  if (command === 'keys') return keysLine(answer as AccountLine)
  if (command === 'price') return `${priceLine(answer as PriceLine)}\n`
  if (command === 'reset-link') return `${(answer as { link: string }).link}\n`
  if (command === 'requests') return requestTable((answer as { requests: RequestLine[] }).requests)
  if (command === 'approve' || command === 'decline')
    return requestTable([(answer as { request: RequestLine }).request])
  return accountTable([answer as AccountLine])
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        account: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
        json: { type: 'boolean' },
        none: { type: 'boolean' },
        note: { type: 'string' },
        reference: { type: 'string' },
        reason: { type: 'string' },
      },
    })
  } catch (error) {
    throw new Misused(error instanceof Error ? error.message : String(error))
  }
}

type Options = ReturnType<typeof parsed>['values']

function bodyOf(command: string, rest: readonly string[], options: Options): Record<string, unknown> {
  const [first, second, third, fourth] = rest
  const expect = (count: number) => {
    if (rest.length !== count) throw new Misused(`"operator ${command}" takes ${count} arguments here; see --help`)
  }
  switch (command) {
    case 'list':
      expect(rest.length === 0 ? 0 : 1)
      return first === undefined ? {} : { search: first }
    case 'grant':
      expect(2)
      return { account: first, usd: second, ...only(options, 'note'), ...only(options, 'reference') }
    case 'limits':
      expect(options.none ? 1 : 4)
      if (options.none) return { account: first, limits: null }
      return { account: first, limits: { rpm: Number(second), tpm: Number(third), concurrency: Number(fourth) } }
    case 'keys':
      expect(options.none ? 1 : 2)
      return { account: first, keys: options.none ? null : Number(second) }
    case 'price':
      expect(options.none ? 1 : 2)
      return { operation: first, usd: options.none ? null : second, ...only(options, 'account') }
    case 'ready':
    case 'requests':
      expect(0)
      return {}
    case 'approve': {
      expect(rest.length === 1 ? 1 : 4)
      const limits = { rpm: Number(second), tpm: Number(third), concurrency: Number(fourth) }
      return { request: first, ...only(options, 'reason'), ...(rest.length > 1 && { limits }) }
    }
    case 'reset-link':
      expect(1)
      return { account: first }
    case 'decline':
      expect(1)
      return { request: first, ...only(options, 'reason') }
    default:
      throw new Misused(`unknown operator command "${command}"; see --help`)
  }
}

function only(options: Options, name: 'note' | 'reference' | 'account' | 'reason'): Record<string, string> {
  const value = options[name]
  return value === undefined ? {} : { [name]: value }
}

function listing({ accounts, prices }: { accounts: readonly AccountLine[]; prices: readonly PriceLine[] }): string {
  if (accounts.length === 0) return 'No accounts yet. The gateway prints at startup how to become its operator.\n'
  const overrides = prices.filter((price) => price.usd !== null)
  return accountTable(accounts) + (overrides.length > 0 ? `\n${overrides.map(priceLine).join('\n')}\n` : '')
}

function accountTable(accounts: readonly AccountLine[]): string {
  return table(
    ['ACCOUNT', 'EMAIL', 'TIER', 'RPM', 'TPM', 'CONCURRENCY', 'BALANCE USD'],
    accounts.map((account) => [
      account.id,
      `${account.email ?? '-'}${account.operator ? ' (operator)' : ''}`,
      account.tier,
      account.limits.rpm,
      account.limits.tpm,
      account.limits.concurrency,
      account.balance_usd,
    ]),
  )
}

function requestTable(requests: readonly RequestLine[]): string {
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

function keysLine({ id, most_keys: maxKeys }: AccountLine): string {
  return `${id} may have up to ${maxKeys} live keys\n`
}

function priceLine({ operation, account, usd }: PriceLine): string {
  return `${operation} costs ${usd === null ? 'the default price' : `${usd} USD`} for ${account ?? 'every account'}`
}
