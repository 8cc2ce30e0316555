import { MAX_TOP_UP_USD, MIN_TOP_UP_USD } from '../../core/accounts/top-up-range'
import type { TopUp } from '../../http/billing/record'
import { ApiClient } from '../api'
import { COMMON_USAGE, type Command, parsedArgs } from '../command'
import { CommandRefused, UsageError } from '../control-client'
import { printed, usdText } from '../print'
import { PROGRAM } from '../program'
import type { Terminal } from '../terminal'

const POLL_MS = 2_000
/** Payment pages expire after this time. */
const MAX_WAIT_MS = 60 * 60_000

export const TOPUP: Command = {
  name: 'topup',
  summary: 'top up the balance by card or in the sandbox',
  usage: `[AMOUNT] [--method card|sandbox] [--no-wait]

  AMOUNT      USD from ${MIN_TOP_UP_USD} to ${MAX_TOP_UP_USD}, such as 10 or 25.50. Without it, opens the Billing page
  --method    card opens a payment page; sandbox adds test money (default: the first method that the gateway offers)
  --no-wait   do not wait for the payment

Requires "${PROGRAM} login": API keys cannot open payment pages.

${COMMON_USAGE}`,
  words: ['--method', '--no-wait'],
  async run(args, terminal) {
    const { values, positionals } = parsedArgs(args, { method: { type: 'string' }, 'no-wait': { type: 'boolean' } })
    const [amount, ...more] = positionals
    if (more.length > 0) throw new UsageError('"topup" takes one AMOUNT; see --help')
    if (amount !== undefined && !/^\d{1,5}(\.\d{1,2})?$/.test(amount))
      throw new UsageError(`"${amount}" is not an amount of USD such as 10 or 25.50`)
    const api = await ApiClient.open(terminal, values)
    if (amount === undefined) {
      const page = `${api.url}/billing`
      const isOpen = await opened(page, terminal, values)
      return printed(terminal, values, { page, opened: isOpen }, () =>
        isOpen ? `Opened ${page}\n` : `Open ${page} in a browser.\n`,
      )
    }
    const method = values.method ?? (await firstMethod(api))
    const begun = await api.json('POST', '/v1/topups', { body: { amount, method } })
    const topUp = topUpIn(begun['topup'])
    const url = typeof begun['url'] === 'string' ? begun['url'] : null
    if (url !== null) {
      const isOpen = await opened(url, terminal, values)
      terminal.err(isOpen ? `Opened ${url}\n` : `Open ${url} in a browser to pay.\n`)
    }
    const end = values['no-wait'] ? topUp : await paid(api, topUp, terminal)
    if (end.state === 'failed')
      throw new CommandRefused('the payment page expired without a payment. Nothing was charged')
    const balance = await api.json('GET', '/v1/credits/balance')
    printed(terminal, values, { topup: end, url, balance }, () => summary(end, balance))
  },
}

function summary(topUp: TopUp, balance: Record<string, unknown>): string {
  const what = topUp.state === 'paid' ? `Topped up ${usdText(topUp.amount_micros_usd)} USD.` : 'Not paid yet.'
  return `${what} The balance is ${usdText(balance['account_balance_micros_usd'])} USD.\n`
}

/** Opens a browser, but only for a person at a terminal. Otherwise the URL is printed. */
async function opened(page: string, terminal: Terminal, { json }: { json?: boolean | undefined }): Promise<boolean> {
  return terminal.isInteractive && json !== true && (await terminal.openBrowser(page))
}

async function firstMethod(api: ApiClient): Promise<string> {
  const { topup_methods: methods } = await api.json('GET', '/v1/topups?limit=1')
  const [first] = Array.isArray(methods) ? methods : []
  if (typeof first === 'string') return first
  throw new CommandRefused(
    'this gateway accepts no cards. Pay with a wallet at POST /v1/wallet/topups, or ask its operator',
  )
}

/** Polls until the top-up is paid or has failed. */
async function paid(api: ApiClient, topUp: TopUp, terminal: Terminal): Promise<TopUp> {
  const until = terminal.now() + MAX_WAIT_MS
  let now = topUp
  if (now.state === 'pending' && terminal.isInteractive) terminal.err('Waiting for the payment ...\n')
  while (now.state === 'pending' && terminal.now() < until) {
    await terminal.sleep(POLL_MS)
    const { topups } = await api.json('GET', '/v1/topups?limit=200')
    const found = (Array.isArray(topups) ? topups : []).map(topUpIn).find(({ id }) => id === topUp.id)
    if (found) now = found
  }
  return now
}

function topUpIn(answer: unknown): TopUp {
  return Object(answer) as TopUp
}
