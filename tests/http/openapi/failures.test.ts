import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { FailureCode } from '../../../server/core/failure'
import { err } from '../../../server/core/result'
import { FAILURES } from '../../../server/http/middleware/response/failures'
import type { MadeKey } from '../../support/harness'
import { type DocumentedRoute, openDocumentedGateway, routesOf } from './documented-gateway'
import { bodyValidator } from './json-validation'

// A shared machine may stand still for seconds; said here, since an import says it for the first file of a run only.
type Gateway = Awaited<ReturnType<typeof openDocumentedGateway>>
type Change = { readonly query?: string; readonly headers?: Record<string, string>; readonly body?: BodyInit }
type Cause = (send: (key: MadeKey | string | null, change?: Change) => Promise<Response>) => Promise<Response>

let gateway: Gateway
let problem: ReturnType<typeof bodyValidator>
let routes: DocumentedRoute[]
beforeAll(async () => {
  gateway = await openDocumentedGateway()
  problem = bodyValidator(gateway.document, 'closed')
  routes = routesOf(gateway.document).filter(({ path }) => path.includes('/websearch/'))
})
afterAll(() => gateway.close())

const key = async (body: Record<string, unknown> = {}) => gateway.key(await gateway.account(), body)
const keys = () => gateway.core.keys
const owner = (accountId: string) =>
  ({
    accountId,
    tier: { toppedUp: 0, growthApproved: false, customLimits: null },
    actor: { kind: 'operator', id: 'test', address: null },
  }) as unknown as Parameters<ReturnType<typeof keys>['disable']>[0]
const failing =
  (kind: 'error' | 'unavailable' | 'timeout' | 'rate_limited'): Cause =>
  async (send) => {
    const answer = async () => err({ kind, reason: 'test' })
    gateway.images.answer = answer
    gateway.context.answer = answer
    return send(await key())
  }

/** A body whose second part comes after a minute. */
const dripped = () =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('{'))
    },
    pull(controller) {
      gateway.clock.advance(60_000)
      controller.enqueue(new TextEncoder().encode('}'))
    },
  })

/** How a caller comes to see each code. */
const CAUSES: Partial<Record<FailureCode, Cause>> = {
  missing_parameter: async (send) => send(await key(), { query: '', body: '{}' }),
  invalid_parameter: async (send) => send(await key(), { query: 'q=a&count=0', body: '{"q":"a","count":0}' }),
  json_parse_error: async (send) => send(await key(), { body: '{' }),
  invalid_request: async (send) => send(await key(), { body: '[]' }),
  request_timeout: async (send) => send(await key(), { body: dripped() }),
  payload_too_large: async (send) => send(await key(), { body: `"${'a'.repeat(1_048_577)}"` }),
  unsupported_media_type: async (send) => send(await key(), { headers: { 'content-type': 'text/plain' } }),
  invalid_api_key: (send) => send('gwk_nobody'),
  api_key_disabled: async (send) => {
    const account = await gateway.account()
    const made = await gateway.key(account)
    await keys().disable(owner(account.id), made.id)
    return send(made)
  },
  expired_api_key: async (send) => {
    const made = await key({ expires_at: new Date(gateway.clock.now() + 1000).toISOString() })
    gateway.clock.advance(2000)
    return send(made)
  },
  ip_not_allowed: async (send) => send(await key({ allowed_ips: ['203.0.113.7'] })),
  account_suspended: async (send) => {
    const account = await gateway.account()
    const made = await gateway.key(account)
    await gateway.core.operator.suspend({ kind: 'operator', id: 'test', address: null }, account.id, 'test')
    return send(made)
  },
  payment_required: (send) => send(null),
  insufficient_api_key_balance: async (send) => send(await key({ spending_limit: 0.001 })),
  quota_exceeded: async (send) =>
    send(await key({ budget: { limit_usd: 0.001, period: 'day', timezone: 'Europe/Berlin' } })),
  insufficient_balance: async (send) => {
    const account = await gateway.account()
    const made = await gateway.key(account)
    await gateway.core.operator.setPrice(
      { kind: 'operator', id: 'test', address: null },
      'image-search',
      account.id,
      3_000_000 as never,
    )
    await gateway.core.operator.setPrice(
      { kind: 'operator', id: 'test', address: null },
      'llm-context',
      account.id,
      3_000_000 as never,
    )
    return send(made)
  },
  not_acceptable: async (send) => send(await key(), { headers: { accept: 'text/html' } }),
  estimated_price_exceeds_max_price: async (send) => send(await key(), { headers: { 'x-max-price-usd': '0.001' } }),
  rate_limit_exceeded: async (send) => {
    const made = await key({ rpm_limit: 1 })
    await send(made)
    return send(made)
  },
  upstream_rate_limit: failing('rate_limited'),
  upstream_error: failing('error'),
  upstream_unavailable: failing('unavailable'),
  upstream_timeout: failing('timeout'),
}

/** A key restricted to the other operation. */
const RESTRICTED: Readonly<Record<string, string>> = { images: 'llm-context', context: 'image-search' }

/**
 * These need a broken server, a repeat, or a payment network: tests/http/system/health.test.ts, tests/mcp/tools.test.ts,
 * tests/http/idempotency-key.test.ts, tests/http/payments/per-request-payment.test.ts and the scenarios make them.
 */
const NOT_MADE_HERE: readonly string[] = [
  'internal_error',
  'service_unavailable',
  'malformed_credential',
  'invalid_challenge',
  'payment_expired',
  'invalid_payload',
  'verification_failed',
  'payment_in_progress',
  'idempotency_conflict',
  'answer_not_kept',
  'payment_pending',
  'payment_network_unavailable',
]

test('every code that a data endpoint documents can occur, with its status, headers and a body that matches the schema', async () => {
  let seen = 0
  for (const route of routes) {
    const { method, path, operation } = route
    const post = method === 'POST'
    const send: Parameters<Cause>[0] = (who, change = {}) => {
      const headers = new Headers(change.headers)
      if (who !== null) headers.set('authorization', `Bearer ${typeof who === 'string' ? who : who.secret}`)
      if (post && !headers.has('content-type')) headers.set('content-type', 'application/json')
      const body = post ? { body: change.body ?? '{"q":"card"}' } : {}
      return gateway.call(post ? path : `${path}?${change.query ?? 'q=card'}`, { method, headers, ...body })
    }
    for (const [status, response] of Object.entries(operation.responses))
      for (const code of Object.keys(response.content?.['application/json']?.examples ?? {})) {
        if (!(code in FAILURES) || NOT_MADE_HERE.includes(code)) continue
        gateway.real()
        const other = RESTRICTED[path.includes('images') ? 'images' : 'context']
        const cause: Cause | undefined =
          code === 'insufficient_permissions'
            ? async (ask) => ask(await key({ allowed_endpoints: [other] }))
            : CAUSES[code as FailureCode]
        const where = `${method} ${path} ${code}`
        expect(cause, where).toBeDefined()
        const answer = await cause!(send)
        const body = (await answer.json()) as { error: { code: string } }
        expect([String(answer.status), body.error.code], where).toEqual([status, code])
        expect(problem(response.content?.['application/json']?.schema, body), where).toBeNull()
        for (const name of Object.keys(response.headers ?? {})) {
          const waitsForOthers = name === 'Retry-After' && FAILURES[code as FailureCode].status === 503
          if (!waitsForOthers) expect(answer.headers.get(name), `${where} ${name}`).not.toBeNull()
        }
        seen++
      }
  }
  expect(seen).toBeGreaterThan(50)
})
