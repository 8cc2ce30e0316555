import { type Operation, parseInput } from '../../core/catalogue/operation'
import type { Parameters, ParameterTable, RawInput } from '../../core/catalogue/parameters'
import { failure, wrongParameters } from '../../core/failure'
import { fingerprintOf } from '../../core/payments/binding'
import type { Provider } from '../../core/providers/provider'
import type { Admitted, Outcome } from '../../pipeline/call'
import { type Counter, runPaidCall } from '../../pipeline/paid-call'
import { quoteOf } from '../../pipeline/quote'
import { admitsJson } from './accept'
import { readWishes } from './call-options'
import { readJson } from './json-body'
import type { Exchange } from './reply'
import type { FrontDesk } from './request-context'

const NONE: readonly string[] = []

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
    const { exchange, admitted } = this.desk.passed(request)
    const { url } = this.desk.arrival(request)
    if (!admitsJson(request.headers.get('accept')))
      return exchange.refuse(
        failure('not_acceptable', 'This endpoint answers JSON only: accept application/json or */*.'),
      )
    const raw = await rawInput(request, url.searchParams)
    if (!raw.ok) return exchange.refuse(raw.error)
    const { operation } = route
    const provider = typeof route.provider === 'function' ? route.provider(admitted) : route.provider
    const parsed = parseInput(operation, raw.value)
    const wishes = readWishes(raw.value.header)
    if (!parsed.ok || !wishes.ok)
      return exchange.refuse(wrongParameters([...(parsed.ok ? [] : parsed.error), ...(wishes.ok ? [] : wishes.error)]))
    const input = parsed.value
    const payer = admitted.caller.kind !== 'anonymous' ? admitted.caller.account.id : null
    const quote = quoteOf(this.counter.prices, operation, input, payer)
    const fingerprint = () =>
      fingerprintOf({ method: request.method, path: url.pathname, query: url.searchParams, input })
    const headers = route.headers?.(input) ?? {}
    const bound = { wishes: wishes.value, hangUp: request.signal }
    const call = { admitted, operation, quote, provider, input, fingerprint, headers, ...bound }
    return told(exchange, operation, await runPaidCall(this.counter, call), headers)
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
      return exchange.quoted(operation.name, outcome)
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
