import { Api } from '../api'
import { COMMON_USAGE, type Command, parsed } from '../command'
import { Misused, Refused } from '../control-client'
import { printed, usd } from '../print'
import type { Terminal } from '../terminal'

const LOOK_EVERY_MS = 2_000
/** As long as a page can be paid on. */
const PATIENCE_MS = 60 * 60_000

interface TopUp {
  readonly id: string
  readonly state: 'pending' | 'paid' | 'failed'
  readonly amount_micros_usd: number
}

export const TOPUP: Command = {
  name: 'topup',
  summary: 'tops the balance up, by card or in the sandbox',
  usage: `[AMOUNT] [--method card|sandbox] [--no-wait]

  AMOUNT      USD, 1 to 10000, such as 10 or 25.50; without it the Billing page is opened
  --method    card opens a page to pay on; sandbox is money that is worth nothing (default: what the gateway offers first)
  --no-wait   does not wait until it is paid

Needs the sign-in of "gateway login": a key opens no page to pay on.

${COMMON_USAGE}`,
  words: ['--method', '--no-wait'],
  async run(args, terminal) {
    const { values, positionals } = parsed(args, { method: { type: 'string' }, 'no-wait': { type: 'boolean' } })
    const [amount, ...more] = positionals
    if (more.length > 0) throw new Misused('"topup" takes one AMOUNT; see --help')
    if (amount !== undefined && !/^\d{1,5}(\.\d{1,2})?$/.test(amount))
      throw new Misused(`"${amount}" is not an amount of USD such as 10 or 25.50`)
    const api = await Api.open(terminal, values)
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
    if (end.state === 'failed') throw new Refused('the page ended without a payment; nothing was charged')
    const balance = await api.json('GET', '/v1/credits/balance')
    printed(terminal, values, { topup: end, url, balance }, () => told(end, balance))
  },
}

function told(topUp: TopUp, balance: Record<string, unknown>): string {
  const what = topUp.state === 'paid' ? `Topped up ${usd(topUp.amount_micros_usd)} USD.` : 'Not paid yet.'
  return `${what} The balance is ${usd(balance['account_balance_micros_usd'])} USD.\n`
}

/** Only where a person watches; else the address is printed. */
async function opened(page: string, terminal: Terminal, { json }: { json?: boolean | undefined }): Promise<boolean> {
  return terminal.isInteractive && json !== true && (await terminal.openBrowser(page))
}

async function firstMethod(api: Api): Promise<string> {
  const { topup_methods: methods } = await api.json('GET', '/v1/topups?limit=1')
  const [first] = Array.isArray(methods) ? methods : []
  if (typeof first === 'string') return first
  throw new Refused('this gateway takes no cards; pay with a wallet at POST /v1/wallet/topups, or ask its operator')
}

/** Looks until it is paid or over. */
async function paid(api: Api, topUp: TopUp, terminal: Terminal): Promise<TopUp> {
  const until = terminal.now() + PATIENCE_MS
  let now = topUp
  if (now.state === 'pending' && terminal.isInteractive) terminal.err('Waiting until it is paid ...\n')
  while (now.state === 'pending' && terminal.now() < until) {
    await terminal.sleep(LOOK_EVERY_MS)
    const { topups } = await api.json('GET', '/v1/topups?limit=200')
    const found = (Array.isArray(topups) ? topups : []).map(topUpIn).find(({ id }) => id === topUp.id)
    if (found) now = found
  }
  return now
}

function topUpIn(answer: unknown): TopUp {
  return Object(answer) as TopUp
}
