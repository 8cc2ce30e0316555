import { limitSubject } from '../../../core/credentials/address'
import type { Failure } from '../../../core/failure'
import type { RequestId } from '../../../core/ids'
import type { Readings } from '../../../core/limits/limiter'
import { formatUsd } from '../../../core/money'
import { failureNote } from '../../../core/usage/failure-note'
import type { Outcome, Quoted, RefusedOutcome, Route, Verdict } from '../../../pipeline/call'
import { HUNG_UP } from '../../../pipeline/call-upstream'
import { type CallEnding, type EndDeps, ended, templateOf } from '../../../pipeline/record-call'
import type { RequestIds } from '../request-ids'
import { FAILURES, failureBody, failureResponse } from './failures'
import { UnreadAnswers } from './unread-answers'

/** For a larger body sent after an await, Bun makes a system call for each part of each header. */
const CORKED_BYTES = 15_000

type Ended<K extends Outcome['kind']> = Extract<Outcome, { readonly kind: K }>

export interface ReplyDeps extends EndDeps {
  /** Public origin, to tell apps where to get a token. */
  readonly baseUrl: string
  readonly unread: UnreadAnswers
}

/**
 * Builds the response to one gated request, authenticated or refused. Every response carries the request ids and limit headers. The
 * end of every call is reported (`ended`), unless it streams.
 */
export class Reply {
  /** What `authenticate` said of the call. */
  readonly verdict: Verdict
  private readonly ids: RequestIds
  private readonly path: string
  private readonly deps: ReplyDeps
  private model: string | null = null
  private removed: string | null = null

  constructor(verdict: Verdict, ids: RequestIds, path: string, deps: ReplyDeps) {
    this.verdict = verdict
    this.ids = ids
    this.path = path
    this.deps = deps
  }

  get requestId(): RequestId {
    return this.ids.own
  }

  get refusal(): Failure | null {
    return 'failure' in this.verdict ? this.verdict.failure : null
  }

  /** Sets the model of the call, for its log row. */
  about(model: string): void {
    this.model = model
  }

  /** Lists the caller's betas that are not forwarded to the vendor, in every response to the call. */
  removedBetas(names: readonly string[]): void {
    if (names.length > 0) this.removed = names.join(', ')
  }

  outcome(outcome: Outcome): Response {
    switch (outcome.kind) {
      case 'served':
      case 'streaming':
        return this.success(outcome)
      case 'repeated':
        return this.repeated(outcome)
      case 'quoted':
        return this.quoted(outcome)
      case 'refused':
        return this.refuse(outcome.failure, outcome)
    }
  }

  /** The JSON of a failure that occurs after a stream has started. */
  failureJson(problem: Failure): string {
    return JSON.stringify(failureBody(problem, this.ids.own, this.path))
  }

  /** A success that cost nothing. */
  free(body: unknown, more: Record<string, string> = {}, status = 200): Response {
    this.ended({ status, row: {} })
    return this.send(status, JSON.stringify(body), this.json(more))
  }

  /** A page for a person's browser. */
  page(status: number, body: string, headers: Record<string, string>): Response {
    this.ended({ status, code: status < 400 ? null : 'invalid_request' })
    return new Response(body, { status, headers: setAll(this.headers(), headers) })
  }

  /** A failure. On a priced route it states a cost of 0. If it is charged all the same, its log row is already written. */
  refuse(
    problem: Failure,
    { readings, isCharged, upstream, held }: Omit<RefusedOutcome, 'kind' | 'failure'> = {},
  ): Response {
    const { route } = this.verdict.incoming
    // If the database accepts no writes, a log row would only queue behind them, and its id may already exist.
    const isLogged = !isCharged && problem.code !== 'service_unavailable'
    const row = isLogged && { row: { upstream, held, failure: failureNote(problem, templateOf(route)) } }
    this.ended({ ...endOf(problem), provider: upstream?.provider, ...row })
    if (problem.offers) this.deps.telemetry.payment('offered')
    const headers = this.headers(readings)
    if (route.kind === 'priced') headers.set('x-cost-micros-usd', '0')
    return failureResponse(problem, this.ids.own, this.path, headers, {
      origin: this.deps.baseUrl,
      scope: scopeOf(route),
    })
  }

  /** A response that another part of the gateway made. `isCounted`: as a call inside this one, with its own log row. */
  async passed(answer: Response, isCounted: boolean): Promise<Response> {
    this.ended(isCounted ? { status: answer.status, isCounted } : { status: answer.status, row: {} })
    const headers = new Headers(answer.headers)
    for (const [name, value] of this.headers()) headers.set(name, value)
    headers.set('cache-control', 'no-store')
    const { status } = answer
    if (!headers.get('content-type')?.startsWith('application/json'))
      return new Response(answer.body, { status, headers })
    return this.send(status, new Uint8Array(await answer.arrayBuffer()), headers)
  }

  /**
   * A success. If it was charged, its log row was written with the charge. A stream whose cost is not known yet charges it and writes its
   * log row itself.
   */
  private success(outcome: Ended<'served'> | Ended<'streaming'>): Response {
    const { kind, status = 200, headers: own, readings } = outcome
    const headers = this.headers(readings)
    if (kind === 'streaming') {
      setAll(headers, own)
      headers.set('cache-control', 'no-store')
      // Without it nginx buffers the events.
      headers.set('x-accel-buffering', 'no')
      return new Response(outcome.body, { status, headers })
    }
    ended(this.deps, this.verdict, { operation: operationOf(this.verdict.incoming.route), status, code: null })
    headers.set('content-type', 'application/json')
    headers.set('x-cost-micros-usd', `${outcome.cost}`)
    if (outcome.receipt) setAll(headers, outcome.receipt.headers)
    // A paid answer belongs to its payer alone. Shared caches keep a GET whose key was not in `Authorization`, unless told not to.
    headers.set('cache-control', 'private')
    return this.send(status, outcome.body, setAll(headers, own))
  }

  private quoted({ quote, balance }: Quoted): Response {
    const { maxCost, fixed, version } = quote
    const body = {
      operation: operationOf(this.verdict.incoming.route),
      price: { mode: fixed ? 'fixed' : 'most', currency: 'USD', amount: formatUsd(maxCost) },
      cost_micros_usd: maxCost,
      price_version: version,
      available_micros_usd: balance,
    }
    return this.free({ quote: body }, { 'x-cost-micros-usd': '0', 'cache-control': 'no-store' })
  }

  /** The response to an earlier request with the same `Idempotency-Key`, which was charged then. */
  private repeated({ status = 200, body, headers }: Ended<'repeated'>): Response {
    this.ended({ status, row: {} })
    return this.send(status, body, this.json({ ...headers, 'x-cost-micros-usd': '0', 'idempotency-replayed': 'true' }))
  }

  private json(more: Readonly<Record<string, string>>): Headers {
    const headers = this.headers()
    headers.set('content-type', 'application/json')
    return setAll(headers, more)
  }

  private send(status: number, body: string | Uint8Array<ArrayBuffer>, headers: Headers): Response {
    const sent = UnreadAnswers.isLarge(body) ? this.deps.unread.inPieces(body, this.owner) : corked(body)
    return new Response(sent, { status, headers })
  }

  /** Whom the bytes of an answer count against. */
  private get owner(): string {
    const { caller, incoming } = this.verdict
    return caller.kind === 'anonymous' ? limitSubject(incoming.address) : caller.account.id
  }

  /** The headers of every response to this call. Set one by one: Bun takes three times as long to read an object. */
  private headers(readings = this.verdict.readings): Headers {
    const headers = new Headers()
    const { echoed, own } = this.ids
    headers.set('x-request-id', echoed)
    headers.set('x-gateway-request-id', own)
    setLimits(headers, readings)
    if (this.removed !== null) headers.set('x-gateway-removed-betas', this.removed)
    return headers
  }

  private ended({ status, code = null, ...more }: Omit<CallEnding, 'operation' | 'code'> & { code?: string | null }) {
    const operation = operationOf(this.verdict.incoming.route)
    const row = more.row && { ...more.row, model: this.model ?? undefined }
    ended(this.deps, this.verdict, { operation, status, code, ...more, ...(row && { row }) })
  }
}

/** What log, metrics and traces say of a failure. A hang-up is not an upstream failure: proxies log it as 499. */
function endOf(problem: Failure): { readonly status: number; readonly code: string } {
  if (problem === HUNG_UP) return { status: 499, code: 'caller_hung_up' }
  return { status: problem.passThrough?.status ?? FAILURES[problem.code].status, code: problem.code }
}

function scopeOf(route: Route): string | null {
  if (route.kind === 'priced' && route.alsoScope) return `${route.scope} ${route.alsoScope}`
  return (route.kind === 'priced' || route.kind === 'free') && route.scope !== 'any' ? route.scope : null
}

function operationOf(route: Route): string {
  return route.kind === 'priced' ? route.operation : route.kind === 'free' ? route.name : 'none'
}

function setAll(headers: Headers, values: Readonly<Record<string, string>>): Headers {
  for (const name in values) headers.set(name, values[name] ?? '')
  return headers
}

/** The limit headers of spec 8, with the concurrency pair of spec D9. */
function setLimits(
  headers: { set(name: string, value: string): void },
  { requests, tokens, concurrency }: Readings,
): void {
  headers.set('x-ratelimit-limit-requests', `${requests.limit}`)
  headers.set('x-ratelimit-remaining-requests', `${requests.remaining}`)
  headers.set('x-ratelimit-reset-requests', `${requests.reset}`)
  headers.set('x-ratelimit-limit-tokens', `${tokens.limit}`)
  headers.set('x-ratelimit-remaining-tokens', `${tokens.remaining}`)
  headers.set('x-ratelimit-reset-tokens', `${tokens.reset}`)
  headers.set('x-ratelimit-limit-concurrency', `${concurrency.limit}`)
  headers.set('x-ratelimit-remaining-concurrency', `${concurrency.remaining}`)
}

export function limitHeaders(readings: Readings): Record<string, string> {
  const headers = new Headers()
  setLimits(headers, readings)
  return Object.fromEntries(headers)
}

/** Makes Bun send a body together with the headers: the body itself, or a direct stream, which has no length. */
function corked(body: string | Uint8Array<ArrayBuffer>): string | Uint8Array<ArrayBuffer> | ReadableStream {
  return body.length < CORKED_BYTES ? body : directStream(body)
}

function directStream(body: string | Uint8Array<ArrayBuffer>): ReadableStream {
  // A stream source of Bun that the DOM types do not include.
  const direct = {
    type: 'direct',
    async pull(controller: { write(chunk: string | Uint8Array): void; close(): void }) {
      controller.write(body)
      controller.close()
    },
  } as unknown as UnderlyingDefaultSource
  return new ReadableStream(direct)
}
