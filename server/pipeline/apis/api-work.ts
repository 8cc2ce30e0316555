import type { ApiOperation } from '../../core/apis/api'
import { upstreamCostOf } from '../../core/apis/api-report'
import { decimalOf } from '../../core/apis/prices/decimal'
import { isSuccess, ReadAnswer, readFigure } from '../../core/apis/prices/figure'
import { apiCharge, maximumOf, minimumOf } from '../../core/apis/prices/price'
import { type Failure, failure, uncharged } from '../../core/failure'
import { type NoSlot, type Shares, TIMES_THE_TIER } from '../../core/limits/shares'
import { type Money, ZERO } from '../../core/money'
import type { OutboundAnswer, OutboundFetch, OutboundStreamFetch } from '../../core/outbound/outbound-fetch'
import { digestOf, fingerprintOf } from '../../core/payments/binding'
import { err, ok, type Result, reasonOf } from '../../core/result'
import type { Telemetry } from '../../core/telemetry/telemetry'
import { faultOf } from '../../core/telemetry/upstream-health'
import type { ByteCache } from '../byte-cache'
import { type AuthenticatedCall, originOf } from '../call'
import { toFailure } from '../call-upstream'
import type { StreamDeps } from '../stream'
import type { CreditUse, OpenCall, Work, WorkResult } from '../work'
import type { ApiInput } from './api-input'
import { type ApiSale, CALL_LOOP, NO_FIGURE, WRONG_ANSWER } from './api-sale'
import { streamed } from './api-stream'
import {
  type AnswerDeadline,
  type ApiAnswer,
  type AskProblem,
  askApi,
  isApiFault,
  isCacheable,
  memoryOf,
  openApi,
} from './ask-api'
import { askPaid, type PaidUpstreams } from './ask-paid'
import { MAX_HOPS, type UpstreamRequest, upstreamRequest, type WrittenBody, writtenBody } from './upstream-request'
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

/** The work of an imported operation: one upstream request, charged by its declared price. */
export function apiWork(deps: ApiDeps, sale: ApiSale, authenticated: AuthenticatedCall): Result<Work, Failure> {
  const { input, price, hops } = sale
  if (hops >= MAX_HOPS) return err(CALL_LOOP)
  const maxCost = maximumOf(price.price, input.numberOf)
  if (maxCost === ZERO && authenticated.caller.kind === 'anonymous') return err(NEEDS_KEY)
  return ok(new ApiWork(deps, sale, maxCost, originOf(authenticated).caller))
}

class ApiWork implements Work {
  readonly operation: Work['operation']
  readonly effect: Work['effect']
  readonly streams: boolean
  readonly timeoutMs: number
  readonly credit: CreditUse
  readonly quote: Work['quote']
  private readonly deps: ApiDeps
  private readonly sale: ApiSale
  /** Whose slot it takes, and whose faults it meets. */
  private readonly caller: string
  private hasSlot = false

  constructor(deps: ApiDeps, sale: ApiSale, maxCost: Money, caller: string) {
    const { api, operation } = sale.match
    const { price, version } = sale.price
    this.deps = deps
    this.sale = sale
    this.caller = caller
    this.operation = operation.name
    this.effect = operation.effect
    this.streams = operation.answer === 'stream'
    this.timeoutMs = api.timeoutMs
    // Signup credit is worth nothing, and such an upstream is paid real money.
    this.credit = deps.creditBuys && api.auth.kind !== '402' ? 'all' : 'nothing'
    this.quote =
      price.mode === 'fixed'
        ? { maxCost, version, fixed: true }
        : { maxCost, version, fixed: false, minCost: minimumOf(price) }
  }

  fingerprint(): string {
    const { match, input } = this.sale
    const { operation } = match
    return fingerprintOf({
      method: operation.method,
      path: operation.name,
      query: input.query.map(([name, text]): [string, string] => [name, text]),
      input: { path: input.path, headers: comparedHeaders(operation, input.headers), body: keyOf(input.body) },
    })
  }

  requote(): Result<Work, Failure> {
    return this.sale.requote()
  }

  /** Asks the upstream in a slot of the API, or answers from the cache, and charges by the figure of the answer. */
  async run(open: OpenCall): Promise<WorkResult> {
    const { deps, sale } = this
    const { api } = sale.match
    const key = cacheKey(sale)
    const cached = key === null ? null : deps.cache.find(key, api.cacheSeconds)
    open.asked(cached ? 'cache' : api.name)
    if (cached) return this.resultOf(cached.value, cached.ageSeconds)
    const full = this.takeSlot(open)
    if (full) return { kind: 'failed', failure: noSlot(full), didNothing: true }
    let result: WorkResult | null = null
    try {
      const startedAt = performance.now()
      if (this.streams) result = await this.openStream(open, startedAt)
      else if (api.auth.kind === '402') result = await this.runPaid(open, startedAt)
      else {
        const answer = await this.ask(open, (request, limits) => askApi(deps.fetch, sale.match, request, limits))
        this.observe(startedAt, answer)
        if (!answer.ok) return this.unanswered(answer.error)
        result = this.resultOf(answer.value)
        if (key !== null && isKept(result, answer.value.answer))
          deps.cache.keep(key, answer.value, ENTRY_BYTES + memoryOf(answer.value.answer))
      }
      return result
    } finally {
      // A stream keeps its slot until it is closed.
      if (result?.kind !== 'stream') this.giveBack()
    }
  }

  private takeSlot({ authenticated }: OpenCall): NoSlot | null {
    const { name, concurrency } = this.sale.match.api
    const tier = authenticated.subjects[0]?.limits.concurrency ?? 1
    const own = this.streams ? TIMES_THE_TIER * tier : Number.POSITIVE_INFINITY
    const full = this.deps.slots.take(name, this.caller, concurrency, own)
    this.hasSlot = full === null
    return full
  }

  private giveBack(): void {
    if (!this.hasSlot) return
    this.hasSlot = false
    this.deps.slots.giveBack(this.sale.match.api.name, this.caller)
  }

  /** The same for an upstream that is paid per request: charged by what it was paid. */
  private async runPaid(open: OpenCall, startedAt: number): Promise<WorkResult> {
    const { deps, sale } = this
    const asked = await askPaid(deps.fetch, deps.paying, sale, open)
    this.observe(startedAt, asked)
    if (!asked.ok) return this.unanswered(asked.error)
    const { answer, paid, payment } = asked.value
    const result = this.resultOf(answer, null, paid)
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
  private async openStream(open: OpenCall, startedAt: number): Promise<WorkResult> {
    const { deps, sale } = this
    const opened = await this.ask(open, (request, limits) => openApi(deps.fetchStream, sale.match, request, limits))
    this.observe(startedAt, opened)
    if (!opened.ok) return this.unanswered(opened.error)
    const stream = opened.value
    return streamed(deps.streams, sale, open, stream, () => {
      stream.cancel()
      this.giveBack()
    })
  }

  /** Writes the request with the credentials of its API, and sends it. */
  private ask<T>(open: OpenCall, send: SendRequest<T>): Asked<T> {
    const { body } = this.sale.input
    return body === null
      ? this.askWith(open, null, send)
      : writtenBody(body).then((written) => this.askWith(open, written, send))
  }

  private askWith<T>(
    { authenticated, timeoutMs, shutdown: signal }: OpenCall,
    body: WrittenBody | null,
    send: SendRequest<T>,
  ): Asked<T> {
    const { match, input, hops } = this.sale
    const { id: requestId, trace } = authenticated.incoming
    const marks = { requestId, hops, traceparent: trace?.handedOn ?? null }
    return withCredentials(this.deps, match, timeoutMs, (credentials, leftMs) => {
      const request = upstreamRequest(match, input, body, credentials, marks)
      if (request.ok) return send(request.value, { timeoutMs: leftMs, signal })
      return err({ kind: 'error', reason: request.error, didNothing: true })
    })
  }

  private unanswered({ didNothing, ...problem }: AskProblem): WorkResult {
    const { api, operation } = this.sale.match
    this.deps.onTrouble(`api ${api.name}`, `${operation.name}: ${problem.reason}`)
    return { kind: 'failed', failure: toFailure(problem), didNothing }
  }

  /** Reports a request to the upstream that ended now: how long it took, and how it failed. */
  private observe(startedAt: number, result: Result<unknown, AskProblem>): void {
    const { deps, sale, caller } = this
    const problem = result.ok ? null : result.error
    const fault = problem !== null && isApiFault(problem) ? faultOf(problem, caller) : null
    const ms = performance.now() - startedAt
    deps.telemetry.upstreamEnded(`api ${sale.match.api.name}`, ms, problem?.kind ?? null, fault)
  }

  private resultOf({ answer, headers }: ApiAnswer, ageSeconds: number | null = null, paid?: Money): WorkResult {
    const { deps, sale } = this
    const { operation } = sale.match
    const read = new ReadAnswer(answer)
    if (!isSuccess(operation.success, read)) {
      deps.onTrouble(`api ${operation.name}`, 'the answer is no success')
      return { kind: 'failed', failure: WRONG_ANSWER, didNothing: false }
    }
    const figure = paid === undefined ? readPriced(operation, read) : decimalOf(paid)
    const charge = apiCharge(sale.price, figure, sale.input.numberOf)
    if (!charge.ok) {
      deps.onTrouble(`api ${operation.name}`, 'the answer has no figure to charge by')
      return { kind: 'failed', failure: NO_FIGURE, didNothing: false }
    }
    const { charged, overrun } = charge.value
    const upstreamCost = ageSeconds === null ? (paid ?? upstreamCostOf(operation, charged.cost)) : ZERO
    const { status, body } = answer
    const served = { kind: 'answer', body, status, headers, charge: { charged, overrun, upstreamCost } } as const
    return ageSeconds === null ? served : { ...served, ageSeconds }
  }
}

type SendRequest<T> = (request: UpstreamRequest, limits: AnswerDeadline) => Promise<Result<T, AskProblem>>
type Asked<T> = Result<T, AskProblem> | Promise<Result<T, AskProblem>>

/** An answer that claims too much is not repeated: each repeat would count as another claim. */
function isKept(result: WorkResult, answer: OutboundAnswer): boolean {
  return result.kind === 'answer' && (result.charge.overrun ?? ZERO) <= 0 && isCacheable(answer)
}

function readPriced({ price }: ApiOperation, read: ReadAnswer) {
  return price.mode === 'fixed' ? null : readFigure(price.figure, read)
}

/** All that goes up, and the price: a change of the operation is a new question. Null for what is never kept. */
function cacheKey({ match: { api, operation }, input }: ApiSale): string | null {
  if (api.cacheSeconds === 0 || operation.method !== 'GET' || operation.effect !== 'read' || api.auth.kind === '402')
    return null
  const { path, query, headers } = input
  return JSON.stringify([operation.name, operation.priceVersion, api.updatedAt, path, query, headers])
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
