import type { Api, ApiOperation } from '../../core/apis/api'
import { upstreamCostOf } from '../../core/apis/api-report'
import type { ApiMatch } from '../../core/apis/api-routes'
import type { Closings } from '../../core/apis/closings'
import { decimalOf } from '../../core/apis/prices/decimal'
import { isSuccess, ReadAnswer, readFigure } from '../../core/apis/prices/figure'
import { apiCharge, maximumOf, minimumOf } from '../../core/apis/prices/price'
import type { Clock } from '../../core/clock'
import { type Failure, failure, uncharged } from '../../core/failure'
import type { AccountId } from '../../core/ids'
import { type NoSlot, type Shares, TIMES_THE_TIER } from '../../core/limits/shares'
import { type Money, ZERO } from '../../core/money'
import type { OutboundFetch, OutboundStreamFetch } from '../../core/outbound/outbound-fetch'
import { digestOf, fingerprintOf } from '../../core/payments/binding'
import { err, ok, type Result, reasonOf } from '../../core/result'
import type { Telemetry } from '../../core/telemetry/telemetry'
import { faultOf } from '../../core/telemetry/upstream-health'
import type { ByteCache } from '../byte-cache'
import { type AuthenticatedCall, originOf } from '../call'
import { toFailure } from '../call-upstream'
import type { StreamDeps } from '../stream'
import type { OpenCall, Work, WorkResult } from '../work'
import type { ApiInput } from './api-input'
import { type ApiSale, CALL_LOOP, NO_FIGURE, WRONG_ANSWER } from './api-sale'
import { streamed } from './api-stream'
import { type AnswerDeadline, type ApiAnswer, type AskProblem, askApi, isApiFault, openApi } from './ask-api'
import { askPaid, type PaidUpstreams } from './ask-paid'
import { MAX_HOPS, type UpstreamRequest, upstreamRequest, type WrittenInput, writtenInput } from './upstream-request'
import { type CredentialDeps, withCredentials } from './with-credentials'

export interface ApiDeps extends CredentialDeps {
  readonly fetch: OutboundFetch
  readonly fetchStream: OutboundStreamFetch
  readonly streams: StreamDeps
  /** Pays upstreams per request; null without a wallet. */
  readonly paying: PaidUpstreams | null
  /** Answers of reads. The key holds all that was sent up and the operation's version. */
  readonly cache: ByteCache<ApiAnswer>
  /** The calls in progress of each API. */
  readonly slots: Shares
  readonly closings: Closings
  readonly clock: Clock
  /** Called when an operation reported more than its maximum to three accounts. */
  readonly onOverruns: (operation: ApiOperation) => void
  /** Whether signup credit buys imported operations. */
  readonly creditBuys: boolean
  readonly onTrouble: (upstream: string, reason: string) => void
  readonly telemetry: Telemetry
}

/** Memory that a cached answer uses in addition to its body and headers. */
const ENTRY_BYTES = 500
const NEEDS_KEY = failure(
  'missing_api_key',
  'This operation is free and needs an API key: send Authorization: Bearer <API_KEY>.',
)
const CLOSED = failure(
  'upstream_unavailable',
  'The upstream charged more than its maximum price. The operation is closed until the operator has checked it.',
)

/** The work of an imported operation: one upstream request, charged by its declared price. */
export function apiWork(deps: ApiDeps, sale: ApiSale, authenticated: AuthenticatedCall): Result<Work, Failure> {
  const { match, input, price, hops } = sale
  const { api, operation } = match
  if (hops >= MAX_HOPS) return err(CALL_LOOP)
  const account = accountOf(authenticated)
  if (account !== null && deps.closings.isClosed(operation, account)) return err(CLOSED)
  const maxCost = maximumOf(price.price, input.numberOf)
  if (maxCost === ZERO && authenticated.caller.kind === 'anonymous') return err(NEEDS_KEY)
  const { query, path, headers, body } = input
  return ok({
    operation: operation.name,
    effect: operation.effect,
    streams: operation.answer === 'stream',
    timeoutMs: api.timeoutMs,
    // Signup credit is worth nothing, and such an upstream is paid real money.
    credit: deps.creditBuys && api.auth.kind !== '402' ? 'all' : 'nothing',
    quote: {
      maxCost,
      version: price.version,
      fixed: price.price.mode === 'fixed',
      ...(price.price.mode !== 'fixed' && { minCost: minimumOf(price.price) }),
    },
    fingerprint: () =>
      fingerprintOf({
        method: operation.method,
        path: operation.name,
        query: query.map(([name, text]): [string, string] => [name, text]),
        input: { path, headers: comparedHeaders(operation, headers), body: keyOf(body) },
      }),
    run: (open) => (operation.answer === 'stream' ? runStream(deps, sale, open) : run(deps, sale, open)),
  })
}

/** Asks the upstream in a slot of the API, or answers from the cache, and charges by the figure of the answer. */
async function run(deps: ApiDeps, sale: ApiSale, open: OpenCall): Promise<WorkResult> {
  const { match } = sale
  const key = cacheKey(sale)
  const cached = key === null ? null : deps.cache.find(key, match.api.cacheSeconds)
  open.asked(cached ? 'cache' : match.api.name)
  if (cached) return resultOf(deps, sale, open, cached.value, { ageSeconds: cached.ageSeconds })
  const caller = callerOf(open.authenticated)
  const full = deps.slots.take(match.api.name, caller, match.api.concurrency)
  if (full) return { kind: 'failed', failure: noSlot(full), didNothing: true }
  try {
    if (match.api.auth.kind === '402') return await runPaid(deps, sale, open)
    const startedAt = performance.now()
    const response = await ask(deps, sale, open, (request, limits) => askApi(deps.fetch, match, request, limits))
    observed(deps, match.api, caller, startedAt, response)
    if (!response.ok) return unanswered(deps, match, response.error)
    const answering = resultOf(deps, sale, open, response.value)
    const result = answering instanceof Promise ? await answering : answering
    if (key !== null && isKept(result, response.value))
      deps.cache.keep(key, response.value, ENTRY_BYTES + response.value.memory())
    return result
  } finally {
    deps.slots.giveBack(match.api.name, caller)
  }
}

/** An answer that claims too much is not repeated: each repeat would count as another claim. */
function isKept(result: WorkResult, { isCacheable }: ApiAnswer): boolean {
  return result.kind === 'answer' && !('overrun' in result.charge && result.charge.overrun > 0) && isCacheable()
}

/** The same for an upstream that is paid per request: charged by what it was paid. */
async function runPaid(deps: ApiDeps, sale: ApiSale, open: OpenCall): Promise<WorkResult> {
  const startedAt = performance.now()
  const asked = await askPaid(deps.fetch, deps.paying, sale, open)
  observed(deps, sale.match.api, callerOf(open.authenticated), startedAt, asked)
  if (!asked.ok) return unanswered(deps, sale.match, asked.error)
  const { answer, paid, payment } = asked.value
  const result = await resultOf(deps, sale, open, answer, { paid })
  if (!payment) return result
  if (result.kind !== 'answer') {
    await payment.unanswered()
    return result
  }
  // Until then its payment is open: a charge may fail, and this process may end.
  const onCharged = () =>
    payment.sold().catch((error: unknown) =>
      // The next check of open payments finds the charge.
      deps.onTrouble(`api ${sale.match.api.name}`, `a payment stays open: ${reasonOf(error)}`),
    )
  return { ...result, onCharged }
}

/** The same for a stream, whose slot is taken until its end. */
async function runStream(deps: ApiDeps, sale: ApiSale, open: OpenCall): Promise<WorkResult> {
  const { match } = sale
  const caller = callerOf(open.authenticated)
  const tier = open.authenticated.subjects[0]?.limits.concurrency ?? 1
  const full = deps.slots.take(match.api.name, caller, match.api.concurrency, TIMES_THE_TIER * tier)
  if (full) return { kind: 'failed', failure: noSlot(full), didNothing: true }
  const giveBack = () => deps.slots.giveBack(match.api.name, caller)
  let isOpened = false
  open.asked(match.api.name)
  try {
    const startedAt = performance.now()
    const opened = await ask(deps, sale, open, async (request, limits) => {
      const stream = await openApi(deps.fetchStream, match, request, limits)
      return stream.ok ? ok({ stream: stream.value, secrets: request.secrets }) : stream
    })
    observed(deps, match.api, caller, startedAt, opened)
    if (!opened.ok) return unanswered(deps, match, opened.error)
    const { stream, secrets } = opened.value
    isOpened = true
    return streamed(deps.streams, sale, open, { stream, secrets, close: closing(stream, giveBack) })
  } finally {
    if (!isOpened) giveBack()
  }
}

/** Closes a stream and gives its slot back, once. */
function closing(stream: { cancel(): void }, giveBack: () => void): () => void {
  let isClosed = false
  return () => {
    if (isClosed) return
    isClosed = true
    stream.cancel()
    giveBack()
  }
}

function unanswered(deps: ApiDeps, { api, operation }: ApiMatch, { didNothing, ...problem }: AskProblem): WorkResult {
  deps.onTrouble(`api ${api.name}`, `${operation.name}: ${problem.reason}`)
  return { kind: 'failed', failure: toFailure(problem), didNothing }
}

/** Reports a request to the upstream that ended now: how long it took, and how it failed. */
function observed(
  { telemetry }: ApiDeps,
  api: Api,
  caller: string,
  startedAt: number,
  result: Result<unknown, AskProblem>,
): void {
  const problem = result.ok ? null : result.error
  const fault = problem !== null && isApiFault(problem) ? faultOf(problem, caller) : null
  telemetry.upstreamEnded(`api ${api.name}`, performance.now() - startedAt, problem?.kind ?? null, fault)
}

type Send<T> = (request: UpstreamRequest, limits: AnswerDeadline) => Promise<Result<T, AskProblem>>
type Asked<T> = Result<T, AskProblem> | Promise<Result<T, AskProblem>>

/** Writes the request with the credentials of its API, and sends it. */
function ask<T>(deps: ApiDeps, sale: ApiSale, open: OpenCall, send: Send<T>): Asked<T> {
  const { path, query, headers, body } = sale.input
  if (body === null) return askWith(deps, sale, open, { path, query, headers, body }, send)
  return writtenInput(sale.input).then((written) => askWith(deps, sale, open, written, send))
}

function askWith<T>(
  deps: ApiDeps,
  { match, hops }: ApiSale,
  { authenticated, timeoutMs, shutdown: signal }: OpenCall,
  written: WrittenInput,
  send: Send<T>,
): Asked<T> {
  const { id: requestId, trace } = authenticated.incoming
  const ids = { requestId, hops, traceparent: trace?.handedOn ?? null }
  return withCredentials(deps, match, timeoutMs, (credentials, leftMs) => {
    const request = upstreamRequest(match, written, credentials, ids)
    if (request.ok) return send(request.value, { timeoutMs: leftMs, signal })
    return err({ kind: 'error', reason: request.error, didNothing: true })
  })
}

/** Waits only where an operation has to be closed. */
function resultOf(
  deps: ApiDeps,
  { match: { operation }, input, price }: ApiSale,
  { authenticated }: Pick<OpenCall, 'authenticated'>,
  answer: ApiAnswer,
  { ageSeconds, paid }: { readonly ageSeconds?: number; readonly paid?: Money } = {},
): WorkResult | Promise<WorkResult> {
  const read = new ReadAnswer(answer)
  if (!isSuccess(operation.success, read)) {
    deps.onTrouble(`api ${operation.name}`, 'the answer is no success')
    return { kind: 'failed', failure: WRONG_ANSWER, didNothing: false }
  }
  const figure = paid === undefined ? readPriced(operation, read) : decimalOf(paid)
  const charge = apiCharge(price, figure, input.numberOf)
  if (!charge.ok) {
    deps.onTrouble(`api ${operation.name}`, 'the answer has no figure to charge by')
    return { kind: 'failed', failure: NO_FIGURE, didNothing: false }
  }
  const result: WorkResult = {
    kind: 'answer',
    // A served answer has its own buffer.
    body: answer.body as Uint8Array<ArrayBuffer>,
    status: answer.status,
    headers: answer.headers,
    charge: {
      ...charge.value,
      upstreamCost: ageSeconds === undefined ? (paid ?? upstreamCostOf(operation, charge.value.charged.cost)) : ZERO,
    },
    ...(ageSeconds !== undefined && { ageSeconds }),
  }
  if (charge.value.overrun <= 0) return result
  return closed(deps, operation, accountOf(authenticated)).then(() => result)
}

function readPriced({ price }: ApiOperation, read: ReadAnswer) {
  return price.mode === 'fixed' ? null : readFigure(price.figure, read)
}

/** Closes an operation to the account whose call it claimed too much for. Durable before the call is charged. */
async function closed(deps: ApiDeps, operation: ApiOperation, account: AccountId | null): Promise<void> {
  if (account === null) return
  try {
    const { toAll } = await deps.closings.close(operation, account, deps.clock.now())
    if (toAll) deps.onOverruns(operation)
  } catch (error) {
    // It is closed in this process, so the call goes on.
    deps.onTrouble(`api ${operation.name}`, `its closing could not be stored: ${reasonOf(error)}`)
  }
}

function accountOf({ caller }: AuthenticatedCall): AccountId | null {
  return caller.kind === 'anonymous' ? null : caller.account.id
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

/** Headers that clients add by themselves: the caller who pays or repeats a call may send others than the first one. */
const NEGOTIATED: ReadonlySet<string> = new Set(['accept', 'accept-language', 'cache-control', 'user-agent'])

/** The headers that every attempt of a request has. Those that are parameters of the operation decide its answer. */
function comparedHeaders({ parameters }: ApiOperation, headers: ApiInput['headers']): ApiInput['headers'] {
  const isParameter = (name: string) => parameters.some((one) => one.in === 'header' && one.name.toLowerCase() === name)
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !NEGOTIATED.has(name) || isParameter(name)))
}

function keyOf(body: ApiInput['body']): unknown {
  if (!body) return null
  if (body.kind !== 'multipart') return { kind: body.kind, text: body.text }
  return body.fields.map(([name, value]) => [
    name,
    typeof value === 'string' ? value : [value.name, value.type, digestOf(value.bytes)],
  ])
}

function noSlot(why: NoSlot): Failure {
  if (why === 'own_share')
    return failure(
      'rate_limit_exceeded',
      "Your account already uses its share of this API's concurrency. Wait for a call to finish.",
      { retryAfterSeconds: 1, limitSource: 'account' },
    )
  return uncharged(
    'upstream_rate_limit',
    'This API is handling as many calls as it can. Your own limits were not reached. Wait, then send the call again.',
    { retryAfterSeconds: 1, limitSource: 'upstream' },
  )
}
