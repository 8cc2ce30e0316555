import { type Operation, parseInput } from '../core/catalogue/operation'
import { type Parameters, type ParameterTable, parseParameters, type RawInput } from '../core/catalogue/parameters'
import { failure, wrongParameters } from '../core/failure'
import { formatUsd, parseUsd } from '../core/money'
import { fingerprintOf } from '../core/payments/binding'
import type { Provider } from '../core/providers/provider'
import type { Admitted, Outcome, Wishes } from '../gateway/call'
import { quoteOf } from '../gateway/quote'
import { type Counter, serve } from '../gateway/serve'
import { admitsJson } from './accept'
import type { Exchange } from './exchange'
import type { FrontDesk } from './front-desk'
import { readJson } from './json-body'

const PRICE_RULE = 'must be an amount of USD such as 0.01, with at most 6 decimals'

const NONE: readonly string[] = []

/** What a caller may ask of any priced call (spec-answers 5). */
export const WISHES = {
  'x-max-price-usd': {
    in: 'header',
    kind: 'text',
    min: 1,
    max: 20,
    pattern: { source: /^\d{1,10}(\.\d{1,6})?$/, rule: PRICE_RULE },
    check: (text) => (parseUsd(text) === null ? PRICE_RULE : null),
    description: 'USD. Refuse, before anything runs, when the request would cost more than this.',
    example: '0.5',
  },
  'idempotency-key': {
    in: 'header',
    kind: 'text',
    min: 1,
    max: 255,
    pattern: { source: /^[\x21-\x7e]{1,255}$/, rule: 'must be 1 to 255 visible ASCII characters' },
    description:
      'Your name of this request. The same key and request get the first answer again for 24 hours without a second charge; another request under the key is 409. Per account and operation; ignored without a key.',
    example: '5f0c8a52-4d0a-4a44-9d5a-7d6c1d4b7c11',
  },
  'x-cost-mode': {
    in: 'header',
    kind: 'enum',
    values: ['quote'],
    description: '`quote` answers what the request would cost; nothing runs, nothing is charged.',
  },
} as const satisfies ParameterTable

/** What is sold behind one route, and the headers that its successes carry. */
export interface PricedRoute<T extends ParameterTable> {
  readonly operation: Operation<T>
  /** A provider, or what makes the one of a call that acts for its key. */
  readonly provider: Provider<Parameters<T>> | ((admitted: Admitted) => Provider<Parameters<T>>)
  readonly headers?: (input: Parameters<T>) => Record<string, string>
}

/** The way of a priced call through HTTP: its input judged whole, then the pipeline, then the answer. */
export class PricedCalls {
  private readonly desk: FrontDesk
  private readonly counter: Counter

  constructor(desk: FrontDesk, counter: Counter) {
    this.desk = desk
    this.counter = counter
  }

  /** Answers a request that passed the door. Everything wrong with its input is told at once. */
  async answer<T extends ParameterTable>(request: Request, route: PricedRoute<T>): Promise<Response> {
    const exchange = this.desk.exchange(request)
    const { admitted } = exchange
    if (!admitted) throw new Error('a call that was turned away reached its route')
    if (!admitsJson(request.headers.get('accept')))
      return exchange.refuse(
        failure('not_acceptable', 'This endpoint answers JSON only: accept application/json or */*.'),
      )
    const raw = await rawInput(request, this.desk.arrival(request).url.searchParams)
    if (!raw.ok) return exchange.refuse(raw.error)
    const { operation } = route
    const provider = typeof route.provider === 'function' ? route.provider(admitted) : route.provider
    const parsed = parseInput(operation, raw.value)
    const wished = parseParameters(WISHES, { query: () => NONE, header: raw.value.header })
    if (!parsed.ok || !wished.ok)
      return exchange.refuse(wrongParameters([...(parsed.ok ? [] : parsed.error), ...(wished.ok ? [] : wished.error)]))
    const input = parsed.value
    const payer = admitted.caller.kind !== 'anonymous' ? admitted.caller.account.id : null
    const quote = quoteOf(this.counter.prices, operation, input, payer)
    const wishes = wishesOf(wished.value)
    const { url } = this.desk.arrival(request)
    const fingerprint = () =>
      fingerprintOf({ method: request.method, path: url.pathname, query: url.searchParams, input })
    const headers = route.headers?.(input) ?? {}
    // What changes something outside goes on to its end, and is charged, whoever still listens: to hang up is no way to get it free.
    const hangUp = operation.effect === 'write' ? new AbortController().signal : request.signal
    const call = { admitted, operation, quote, provider, input, fingerprint, headers, wishes, hangUp }
    return told(exchange, operation, await serve(this.counter, call), headers)
  }
}

export function wishesOf(wished: Parameters<typeof WISHES>): Wishes {
  const most = wished['x-max-price-usd']
  return {
    maxPrice: most === undefined ? null : parseUsd(most),
    quote: wished['x-cost-mode'] === 'quote',
    idempotencyKey: wished['idempotency-key'] ?? null,
  }
}

function told(
  exchange: Exchange,
  operation: Pick<Operation, 'name'>,
  outcome: Outcome,
  headers: Record<string, string>,
): Response {
  switch (outcome.kind) {
    case 'served':
      return exchange.served(outcome.body, outcome.cost, outcome.receipt, {
        ...headers,
        ...(outcome.ageSeconds !== undefined && { age: String(outcome.ageSeconds) }),
      })
    case 'repeated':
      return exchange.repeated(outcome.body, outcome.headers)
    case 'refused':
      return exchange.refuse(outcome.failure, outcome.readings)
    case 'quoted':
      return exchange.quoted({
        operation: operation.name,
        price: {
          mode: outcome.quote.fixed ? 'fixed' : 'most',
          currency: 'USD',
          amount: formatUsd(outcome.quote.most),
        },
        cost_micros_usd: outcome.quote.most,
        price_version: outcome.quote.version,
        available_micros_usd: outcome.balance,
      })
  }
}

async function rawInput(request: Request, query: URLSearchParams) {
  const sent = new Map<string, string[]>()
  for (const [name, value] of query) {
    const values = sent.get(name)
    if (values) values.push(value)
    else sent.set(name, [value])
  }
  const wire = {
    query: (name: string) => sent.get(name) ?? NONE,
    header: (name: string) => request.headers.get(name),
  }
  if (request.method !== 'POST') return { ok: true as const, value: wire satisfies RawInput as RawInput }
  const read = await readJson(request)
  if (!read.ok) return read
  const body = read.value === undefined ? {} : read.value
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    return { ok: false as const, error: failure('invalid_request', 'The body must be a JSON object of parameters.') }
  return { ok: true as const, value: { ...wire, body: body as Record<string, unknown> } satisfies RawInput as RawInput }
}
