import type { ApiMatch } from '../../core/apis/api-routes'
import { isSuccess, readFigure } from '../../core/apis/figure'
import { type CallPrice, chargeFor, maximumOf } from '../../core/apis/price'
import type { SecretsOf } from '../../core/apis/secrets'
import { type Failure, failure } from '../../core/failure'
import type { OutboundFetch } from '../../core/outbound/outbound-fetch'
import { digestOf, fingerprintOf } from '../../core/payments/binding'
import { err, ok, type Result } from '../../core/result'
import { type AuthenticatedCall, originOf } from '../call'
import { toFailure } from '../call-upstream'
import type { OpenCall, Work, WorkResult } from '../work'
import type { ApiCache } from './api-cache'
import type { ApiInput } from './api-input'
import type { ApiPlaces } from './api-places'
import { type ApiAnswer, type Asked, askApi, readOf } from './ask-api'
import type { Overruns } from './overruns'
import { credentialsOf, upstreamRequest } from './upstream-request'

export interface ApiDeps {
  readonly fetch: OutboundFetch
  readonly secretsOf: SecretsOf
  readonly cache: ApiCache
  readonly places: ApiPlaces
  readonly overruns: Overruns
  /** Whether signup credit buys imported operations. */
  readonly creditBuys: boolean
  readonly onTrouble: (upstream: string, reason: string) => void
}

/** A call of an imported operation, with its input validated and its price fixed. */
export interface ApiSale {
  readonly match: ApiMatch
  readonly input: ApiInput
  readonly price: CallPrice
}

const CLOSED = failure(
  'upstream_unavailable',
  'The upstream of this operation reported higher costs than it may. The operation is closed until the operator has checked it.',
)
const WRONG_ANSWER = failure(
  'upstream_error',
  'The upstream answered, but not with the result that this operation sells. You were not charged.',
)
const NO_FIGURE = failure(
  'upstream_error',
  'The upstream answered without the figure that this operation is priced by. You were not charged.',
)

/** The work of an imported operation: one upstream request, charged by its declared price. */
export function apiWork(deps: ApiDeps, sale: ApiSale, authenticated: AuthenticatedCall): Result<Work, Failure> {
  const { match, input, price } = sale
  const { api, operation } = match
  if (deps.overruns.isClosed(operation, callerOf(authenticated))) return err(CLOSED)
  const { query, path, headers, body } = input
  return ok({
    operation: operation.name,
    effect: operation.effect,
    streams: false,
    timeoutMs: api.timeoutMs,
    credit: deps.creditBuys ? 'all' : 'nothing',
    quote: {
      maxCost: maximumOf(price.price, input.numberOf),
      version: price.version,
      fixed: price.price.mode === 'fixed',
    },
    fingerprint: () =>
      fingerprintOf({
        method: operation.method,
        path: operation.name,
        query,
        input: { path, headers, body: keyOf(body) },
      }),
    run: (open) => run(deps, sale, open),
  })
}

/** Asks the upstream in a place of the API, or answers from the cache, and charges by the figure of the answer. */
async function run(deps: ApiDeps, sale: ApiSale, open: OpenCall): Promise<WorkResult> {
  const { match, input } = sale
  const key = cacheKey(sale)
  const kept = key === null ? null : deps.cache.find(key, match.api.cacheSeconds)
  if (kept) return answered(deps, sale, open, kept.answer, kept.ageSeconds)
  const place = deps.places.take(match.api, callerOf(open.authenticated))
  if (typeof place === 'string') return { kind: 'failed', failure: noPlace(place), didNothing: true }
  try {
    const asked = await ask(deps, match, input, open)
    if (!asked.ok) {
      const { didNothing, ...problem } = asked.error
      deps.onTrouble(`api ${match.api.name}`, `${match.operation.name}: ${problem.reason}`)
      return { kind: 'failed', failure: toFailure(problem), didNothing }
    }
    const result = answered(deps, sale, open, asked.value)
    if (result.kind === 'answer' && key !== null && asked.value.isCacheable) deps.cache.keep(key, asked.value)
    return result
  } finally {
    place()
  }
}

async function ask(deps: ApiDeps, match: ApiMatch, input: ApiInput, open: OpenCall): Promise<Asked> {
  const credentials = credentialsOf(match.api, deps.secretsOf)
  if (!credentials) return err({ kind: 'unavailable', reason: 'its secret is not configured', didNothing: true })
  const request = await upstreamRequest(match, input, credentials, open.authenticated.incoming.id)
  if (!request.ok) return err({ kind: 'error', reason: request.error, didNothing: true })
  return askApi(deps.fetch, match, request.value, { timeoutMs: open.timeoutMs, signal: open.shutdown })
}

function answered(
  deps: ApiDeps,
  { match: { operation }, input, price }: ApiSale,
  { authenticated }: Pick<OpenCall, 'authenticated'>,
  answer: ApiAnswer,
  ageSeconds?: number,
): WorkResult {
  const read = readOf(answer)
  if (!isSuccess(operation.success, read)) {
    deps.onTrouble(`api ${operation.name}`, 'the answer is no success')
    return { kind: 'failed', failure: WRONG_ANSWER, didNothing: false }
  }
  const figure = operation.price.mode === 'fixed' ? null : readFigure(operation.price.figure, read)
  const charge = chargeFor(price, figure, input.numberOf)
  if (!charge.ok) {
    deps.onTrouble(`api ${operation.name}`, 'the answer has no figure to charge by')
    return { kind: 'failed', failure: NO_FIGURE, didNothing: false }
  }
  if (charge.value.overrun > 0) deps.overruns.add(operation, callerOf(authenticated))
  return {
    kind: 'answer',
    // What is served has its own buffer.
    body: answer.body as Uint8Array<ArrayBuffer>,
    status: answer.status,
    headers: answer.headers,
    charge: charge.value,
    ...(ageSeconds !== undefined && { ageSeconds }),
  }
}

/** All that goes up, and the price: a change of the operation is a new question. Null for what is never kept. */
function cacheKey({ match: { api, operation }, input }: ApiSale): string | null {
  if (api.cacheSeconds === 0 || operation.method !== 'GET' || operation.effect !== 'read' || api.auth.kind === '402')
    return null
  const { path, query, headers } = input
  return JSON.stringify([operation.name, operation.priceVersion, api.updatedAt, path, query, headers])
}

function callerOf(authenticated: AuthenticatedCall): string {
  return originOf(authenticated).caller
}

function keyOf(body: ApiInput['body']): unknown {
  if (body?.kind !== 'multipart') return body
  return body.fields.map(([name, value]) => [
    name,
    typeof value === 'string' ? value : [value.name, value.type, digestOf(value.bytes)],
  ])
}

function noPlace(why: 'api_full' | 'caller_full'): Failure {
  const wait = { retryAfterSeconds: 1 }
  if (why === 'api_full')
    return failure('service_unavailable', 'This API is handling as many calls as it can. Try again.', wait)
  return failure('rate_limit_exceeded', 'Your calls take half of the places of this API. Wait for one to finish.', {
    ...{ ...wait, limitSource: 'account' },
  })
}
