import { afterAll, afterEach, beforeAll, expect } from 'bun:test'
import { rm } from 'node:fs/promises'
import { sql } from 'drizzle-orm'
import type { Api, ApiOperation } from '../../../server/core/apis/api'
import { micros } from '../../../server/core/money'
import { openApiGateway, type UpstreamCall } from '../api-upstream'
import { anOperation } from '../apis'
import { reconcile } from '../reconcile'
import { asksToPay, hasPaid, openNode, PAYEE, paymentIn, walletEnv } from './paid-upstream'

export const PAID_PATH = '/apis/v1/weather/v1/forecast'
const PAID: Partial<ApiOperation> = {
  price: {
    mode: 'reported',
    figure: { kind: 'paid' },
    unit: 'micros',
    multiplier: '1.2',
    minimum: micros(0),
    maximum: micros(15_000),
    onMissing: null,
  },
}
type Answering = (call: UpstreamCall) => Response | Promise<Response>

interface PayingOptions {
  /** Answers what was paid for. */
  readonly paid?: Answering
  /** The challenge. */
  readonly asks?: (url: string) => Response
  readonly operation?: Partial<ApiOperation>
  readonly env?: Record<string, string>
  readonly api?: Partial<Api>
  /** The key's settings. */
  readonly key?: Record<string, unknown>
}

/** A gateway whose wallet may pay its one upstream, and a caller with 5 USD. */
export async function openPayingGateway(options: PayingOptions = {}) {
  const { paid = () => Response.json({ sun: true }), asks = asksToPay, operation = {}, api, key: settings } = options
  const node = openNode()
  const gateway = await openApiGateway({}, { env: { ...walletEnv(node.url), ...options.env } })
  const { upstream, sell, core, as, key: makeKey, account: newAccount, clock, gateway: composed } = gateway
  upstream.answers((call) => (hasPaid(call) ? paid(call) : asks(`${upstream.url}${call.target}`)))
  sell({ auth: { kind: '402', payees: [PAYEE] }, operations: [anOperation({ ...PAID, ...operation })], ...api })
  node.seconds = Math.floor(clock.now() / 1000)
  const openAccount = async () => {
    const account = await newAccount()
    const topUp = { account: account.id, part: 'paid', kind: 'top_up', amount: micros(5_000_000) } as const
    expect((await core.ledger.credit({ ...topUp, description: 'test', reference: account.id })).ok).toBe(true)
    return { account, key: await makeKey(account, { allowed_endpoints: ['weather.forecast'], ...settings }) }
  }
  const { account, key } = await openAccount()
  const start = (await core.ledger.balance(account.id))?.available ?? 0
  const rows = () =>
    core.stores.db.all<{ state: string; reference: string | null; request: string; nonce: string }>(
      sql`SELECT state, reference, request, nonce FROM upstream_payments ORDER BY signed_at`,
    )
  return {
    gateway,
    as,
    key,
    upstream,
    core,
    clock,
    makeKey,
    newAccount,
    account,
    sell,
    node,
    composed,
    rows,
    /** Calls as another account, which has 5 USD as well. */
    async another() {
      const other = await openAccount()
      return () => as(other.key, PAID_PATH, { method: operation.method ?? 'GET' })
    },
    call: (init: RequestInit = {}) => as(key, PAID_PATH, { method: operation.method ?? 'GET', ...init }),
    spent: async () => start - ((await core.ledger.balance(account.id))?.available ?? 0),
    payments: () => Promise.all(upstream.calls.map(paymentIn)).then((all) => all.filter((one) => one !== null)),
    states: async () => (await rows()).map(({ state }) => state),
    overruns: async () =>
      (await core.stores.db.all<{ amount: number }>(sql`SELECT amount FROM entries WHERE debit = 'house/overrun'`)).map(
        ({ amount }) => amount,
      ),
    /** Time passes, on the chain as well, and what is open is looked up. */
    async later(ms: number) {
      clock.advance(ms)
      node.seconds = Math.floor(clock.now() / 1000)
      await composed.upstreamPayments?.run()
    },
    async close() {
      await gateway.close()
      await node.close()
    },
    /** Closes the gateway and compares everything that must agree. */
    async booksAgree() {
      await gateway.close(true)
      await node.close()
      expect((await reconcile(gateway.databaseFile)).problems).toEqual([])
      await rm(gateway.folder, { recursive: true, force: true })
    },
  }
}

export type PayingGateway = Awaited<ReturnType<typeof openPayingGateway>>

/** The paying gateway of each test of a file, one at a time: it is closed behind the test. */
export function onePayingGateway() {
  let open: PayingGateway | null = null
  afterEach(async () => {
    await open?.close()
    open = null
  })
  return {
    current: () => open,
    async paying(...options: Parameters<typeof openPayingGateway>): Promise<PayingGateway> {
      open = await openPayingGateway(...options)
      return open
    },
    /** Closes the gateway and compares everything that must agree. */
    async booksAgree() {
      const closing = open
      open = null
      await closing?.booksAgree()
    },
  }
}

/** One paying gateway for tests in which nothing is signed. At their end it still pays what is right. */
export function unpaidGateway() {
  let open: PayingGateway
  const asking = (asks: (url: string) => Response): PayingGateway => {
    const { upstream } = open
    upstream.calls.length = 0
    upstream.answers((call) => (hasPaid(call) ? Response.json({}) : asks(`${upstream.url}${call.target}`)))
    return open
  }
  beforeAll(async () => {
    open = await openPayingGateway()
  })
  afterAll(async () => {
    expect((await asking(asksToPay).call()).status).toBe(200)
    await open.booksAgree()
  })
  return asking
}
