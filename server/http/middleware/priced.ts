import { type Operation, parseInput } from '../../core/catalogue/operation'
import type { Parameters, ParameterTable, RawInput } from '../../core/catalogue/parameters'
import { failure, wrongParameters } from '../../core/failure'
import { fingerprintOf } from '../../core/payments/binding'
import type { Provider } from '../../core/providers/provider'
import { ok } from '../../core/result'
import type { AuthenticatedCall } from '../../pipeline/call'
import { type PipelineDeps, runPaidCall } from '../../pipeline/paid-call'
import { providerWork } from '../../pipeline/provider-work'
import { quoteOf } from '../../pipeline/quote'
import { admitsJson } from './accept'
import { readCallOptions } from './call-options'
import { readJson } from './json-body'
import type { GatedContext } from './request-context'

const NONE: readonly string[] = []

/** What is sold behind one route, and the headers that its successes carry. */
export interface PricedRoute<T extends ParameterTable> {
  readonly operation: Operation<T>
  /** A provider, or what makes the one of a call that acts for its key. */
  readonly provider: Provider<Parameters<T>> | ((authenticated: AuthenticatedCall) => Provider<Parameters<T>>)
  readonly headers?: (input: Parameters<T>) => Record<string, string>
}

/** The way of a priced call through HTTP: its input judged whole, then the pipeline, then the answer. */
export class PricedCalls {
  private readonly deps: PipelineDeps

  constructor(deps: PipelineDeps) {
    this.deps = deps
  }

  /** Answers a call that was authenticated. Everything wrong with its input is told at once. */
  async answer<T extends ParameterTable>(context: GatedContext, route: PricedRoute<T>): Promise<Response> {
    const { request, url, reply, authenticated } = context
    if (!admitsJson(request.headers.get('accept')))
      return reply.refuse(failure('not_acceptable', 'This endpoint answers JSON only: accept application/json or */*.'))
    const raw = await rawInput(context)
    if (!raw.ok) return reply.refuse(raw.error)
    const { operation } = route
    const provider = typeof route.provider === 'function' ? route.provider(authenticated) : route.provider
    const parsed = parseInput(operation, raw.value)
    const options = readCallOptions(raw.value.header)
    if (!parsed.ok || !options.ok)
      return reply.refuse(wrongParameters([...(parsed.ok ? [] : parsed.error), ...(options.ok ? [] : options.error)]))
    const input = parsed.value
    const payer = authenticated.caller.kind !== 'anonymous' ? authenticated.caller.account.id : null
    const quote = quoteOf(this.deps.prices, operation, input, payer)
    const fingerprint = () =>
      fingerprintOf({ method: request.method, path: url.pathname, query: url.searchParams, input })
    const headers = route.headers?.(input) ?? {}
    const work = ok(providerWork(this.deps, { operation, provider, input, quote, headers, fingerprint }))
    const call = {
      authenticated,
      options: options.value,
      hangUp: request.signal,
      takesPlace: operation.takesConcurrency,
    }
    return reply.outcome(await runPaidCall(this.deps, call, () => work))
  }
}

async function rawInput(context: GatedContext) {
  const { request } = context
  const sent = new Map<string, string[]>()
  for (const [name, value] of context.url.searchParams) {
    const values = sent.get(name)
    if (values) values.push(value)
    else sent.set(name, [value])
  }
  const wire = {
    query: (name: string) => sent.get(name) ?? NONE,
    header: (name: string) => request.headers.get(name),
  }
  if (request.method !== 'POST') return { ok: true as const, value: wire satisfies RawInput as RawInput }
  const read = await readJson(context)
  if (!read.ok) return read
  const body = read.value === undefined ? {} : read.value
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    return { ok: false as const, error: failure('invalid_request', 'The body must be a JSON object of parameters.') }
  return { ok: true as const, value: { ...wire, body: body as Record<string, unknown> } satisfies RawInput as RawInput }
}
