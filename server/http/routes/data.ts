import { Elysia } from 'elysia'
import { IMAGE_SEARCH, type ImageSearchInput } from '../../core/catalogue/image-search'
import { LLM_CONTEXT, type LlmContextInput } from '../../core/catalogue/llm-context'
import { type Operation, parseInput } from '../../core/catalogue/operation'
import { type Parameters, type ParameterTable, parseParameters, type RawInput } from '../../core/catalogue/parameters'
import { failure, wrongParameters } from '../../core/failure'
import { formatUsd, parseUsd } from '../../core/money'
import type { Provider } from '../../core/providers/provider'
import type { Outcome, Wishes } from '../../gateway/call'
import { type Counter, serve } from '../../gateway/serve'
import { admitsJson } from '../accept'
import { dataDocs, routeParameters } from '../docs/data-docs'
import { documented } from '../docs/documented'
import type { Exchange } from '../exchange'
import type { FrontDesk } from '../front-desk'
import { readJson } from '../json-body'
import { REQUEST_ID_HEADER } from '../request-ids'

export interface DataProviders {
  readonly images: Provider<ImageSearchInput>
  readonly context: Provider<LlmContextInput>
}

const PRICE_RULE = 'must be an amount of USD such as 0.01, with at most 6 decimals'

const NONE: readonly string[] = []

/** What a caller may ask of any priced call (spec-answers 5). */
const WISHES = {
  'x-max-price-usd': {
    in: 'header',
    kind: 'text',
    min: 1,
    max: 20,
    pattern: { source: /^\d{1,10}(\.\d{1,6})?$/, rule: PRICE_RULE },
    check: (text) => (parseUsd(text) === null ? PRICE_RULE : null),
    description: 'USD. Refuse, before anything runs, when the request would cost more than this.',
    example: '0.01',
  },
  'x-cost-mode': {
    in: 'header',
    kind: 'enum',
    values: ['quote'],
    description: '`quote` answers what the request would cost; nothing runs, nothing is charged.',
  },
} as const satisfies ParameterTable

/** Image search and LLM context (spec 4.1, 4.2): input, then the pipeline, then the answer. */
export function dataRoutes(desk: FrontDesk, counter: Counter, providers: DataProviders) {
  const handle = async <T extends ParameterTable>(
    operation: Operation<T>,
    provider: Provider<Parameters<T>>,
    request: Request,
  ): Promise<Response> => {
    const exchange = desk.exchange(request)
    if (!exchange.admitted) throw new Error('a call that was turned away reached its route')
    if (!admitsJson(request.headers.get('accept')))
      return exchange.refuse(
        failure('not_acceptable', 'This endpoint answers JSON only: accept application/json or */*.'),
      )
    const raw = await rawInput(request, desk.arrival(request).url.searchParams)
    if (!raw.ok) return exchange.refuse(raw.error)
    const input = parseInput(operation, raw.value)
    const wished = parseParameters(WISHES, { query: () => NONE, header: raw.value.header })
    if (!input.ok || !wished.ok)
      return exchange.refuse(wrongParameters([...(input.ok ? [] : input.error), ...(wished.ok ? [] : wished.error)]))
    const most = wished.value['x-max-price-usd']
    const wishes: Wishes = {
      maxPrice: most === undefined ? null : parseUsd(most),
      quote: wished.value['x-cost-mode'] === 'quote',
    }
    const outcome = await serve(counter, exchange.admitted, operation, provider, input.value, wishes, request.signal)
    return answer(exchange, operation, outcome, String(Reflect.get(input.value, 'api-version')))
  }
  return new Elysia({ name: 'data' })
    .get(IMAGE_SEARCH.path, ({ request }) => handle(IMAGE_SEARCH, providers.images, request), docs(IMAGE_SEARCH, 'GET'))
    .get(LLM_CONTEXT.path, ({ request }) => handle(LLM_CONTEXT, providers.context, request), docs(LLM_CONTEXT, 'GET'))
    .post(LLM_CONTEXT.path, ({ request }) => handle(LLM_CONTEXT, providers.context, request), {
      parse: 'none',
      ...docs(LLM_CONTEXT, 'POST'),
    })
}

function docs(operation: Operation, method: 'GET' | 'POST') {
  return documented(dataDocs(operation, method), routeParameters(operation, method), WISHES, REQUEST_ID_HEADER)
}

function answer(exchange: Exchange, operation: Operation, outcome: Outcome, version: string): Response {
  switch (outcome.kind) {
    case 'served':
      return exchange.served(outcome.body, outcome.cost, { 'api-version': version })
    case 'refused':
      return exchange.refuse(outcome.failure, outcome.readings)
    case 'quoted':
      return exchange.free(
        {
          quote: {
            operation: operation.name,
            price: { mode: 'fixed', currency: 'USD', amount: formatUsd(outcome.price.amount) },
            cost_micros_usd: outcome.price.amount,
            price_version: outcome.price.version,
            available_micros_usd: outcome.balance,
          },
        },
        { 'x-cost-micros-usd': '0', 'cache-control': 'no-store' },
      )
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
