import type { Failure } from '../../core/failure'
import type { Journal } from '../../core/ledger/journal'
import type { Readings } from '../../core/limits/limiter'
import { formatUsd } from '../../core/money'
import { forbidden } from '../../pipeline/auth/authenticate'
import type { AuthenticatedCall, IncomingCall, Outcome, Quoted, Refused, Route } from '../../pipeline/call'
import { callRecord } from '../../pipeline/record-call'
import { FAILURES, failureBody, failureResponse } from './failures'
import { limitHeaders } from './limit-headers'
import { idHeaders, type RequestIds } from './request-ids'

type Ended<K extends Outcome['kind']> = Extract<Outcome, { readonly kind: K }>

/** Bodies above this go out as one direct stream: Bun sends a larger one with a system call per header (facts/performance). */
const CORKED_BYTES = 15_000

/**
 * The answer to one gated request, whether it was authenticated or refused. Every answer carries the request ids and
 * the limit headers, and every call of a known caller leaves its row.
 */
export class Reply {
  readonly incoming: IncomingCall
  private readonly verdict: AuthenticatedCall | Refused
  private readonly ids: RequestIds
  private readonly path: string
  private readonly journal: Pick<Journal, 'note'>
  private readonly now: () => number
  private readonly origin: string
  private model: string | null = null
  private readonly more: Record<string, string> = {}

  constructor(parts: {
    verdict: AuthenticatedCall | Refused
    ids: RequestIds
    path: string
    journal: Pick<Journal, 'note'>
    now: () => number
    /** Public origin, for what tells an app where to get a token. */
    origin: string
  }) {
    this.verdict = parts.verdict
    this.incoming = parts.verdict.incoming
    this.ids = parts.ids
    this.path = parts.path
    this.journal = parts.journal
    this.now = parts.now
    this.origin = parts.origin
  }

  /** Why the call was refused, or null. */
  get refusal(): Failure | null {
    return 'failure' in this.verdict ? this.verdict.failure : null
  }

  /** Names the model that the call is of, for its row where nobody else writes one. */
  about(model: string): void {
    this.model = model
  }

  /** Names the betas of the caller that the vendor does not get, in every answer to the call. */
  removedBetas(names: readonly string[]): void {
    if (names.length > 0) this.more['x-gateway-removed-betas'] = names.join(', ')
  }

  /** The answer to a priced call, however it ended. */
  outcome(outcome: Outcome): Response {
    switch (outcome.kind) {
      case 'served':
        return this.served(outcome)
      case 'streaming':
        return this.streaming(outcome)
      case 'repeated':
        return this.repeated(outcome)
      case 'quoted':
        return this.quoted(outcome)
      case 'refused':
        return this.refuse(outcome.failure, outcome.readings, outcome.isCharged)
    }
  }

  /** The body of a failure that comes behind the headers of a stream. */
  failureJson(problem: Failure): string {
    return JSON.stringify(failureBody(problem, this.ids.own, this.path))
  }

  /** A success that cost nothing. */
  free(body: unknown, more: Record<string, string> = {}, status: 200 | 201 = 200): Response {
    this.note(status, null)
    return this.send(status, JSON.stringify(body), more)
  }

  /** A page for a person's browser. */
  page(status: number, body: string, headers: Record<string, string>): Response {
    return new Response(body, { status, headers: { ...this.headers(), ...headers } })
  }

  /** A failure; on a priced route it says that it cost nothing. `hasRow`: its row is written. */
  refuse(problem: Failure, readings?: Readings, hasRow = false): Response {
    const status = problem.passThrough?.status ?? FAILURES[problem.code].status
    // When the database takes no writes, a row about it would only queue behind them, and its id may be taken.
    if (!hasRow && problem.code !== 'service_unavailable') this.note(status, problem.code)
    const headers = new Headers(this.headers(readings))
    if (this.incoming.route.kind === 'priced') headers.set('x-cost-micros-usd', '0')
    return failureResponse(problem, this.ids.own, this.path, headers, this.origin)
  }

  /** Why this caller may not go there either, or null. */
  forbids(route: Route): Failure | null {
    return forbidden(this.verdict.caller, route)
  }

  /** An answer that another part of the service made. It is in the log under its own name when `isLogged`. */
  passed(answer: Response, isLogged: boolean): Response {
    if (!isLogged) this.note(answer.status, null)
    const headers = new Headers(answer.headers)
    for (const [name, value] of Object.entries(this.headers())) headers.set(name, value)
    headers.set('cache-control', 'no-store')
    return new Response(answer.body, { status: answer.status, headers })
  }

  /** A success that was charged: its row went down with the charge. */
  private served({ body, headers, cost, receipt, readings }: Ended<'served'>): Response {
    // An answer that was paid for by itself is the payer's alone.
    const paid = receipt ? { ...receipt.headers, 'cache-control': 'private' } : {}
    return this.send(200, body, { 'x-cost-micros-usd': String(cost), ...paid, ...headers }, readings)
  }

  /** A success whose cost is not known yet: the stream charges it, and leaves its row. */
  private streaming({ body, headers, readings }: Ended<'streaming'>): Response {
    const all = {
      ...this.headers(readings),
      ...headers,
      'cache-control': 'no-store',
      // Or nginx keeps events until its buffer is full.
      'x-accel-buffering': 'no',
    }
    return new Response(body, { headers: all })
  }

  /** What a call would cost, which is not run. */
  private quoted({ quote, balance }: Quoted): Response {
    const { most, fixed, version } = quote
    const told = {
      operation: operationOf(this.incoming.route),
      price: { mode: fixed ? 'fixed' : 'most', currency: 'USD', amount: formatUsd(most) },
      cost_micros_usd: most,
      price_version: version,
      available_micros_usd: balance,
    }
    return this.free({ quote: told }, { 'x-cost-micros-usd': '0', 'cache-control': 'no-store' })
  }

  /** The answer of an earlier request under the same `Idempotency-Key`: charged then, not now. */
  private repeated({ body, headers }: Ended<'repeated'>): Response {
    this.note(200, null)
    return this.send(200, body, { ...headers, 'x-cost-micros-usd': '0', 'idempotency-replayed': 'true' })
  }

  private send(
    status: number,
    body: string | Uint8Array<ArrayBuffer>,
    more: Record<string, string>,
    readings?: Readings,
  ): Response {
    const headers = { ...this.headers(readings), 'content-type': 'application/json', ...more }
    return new Response(body.length < CORKED_BYTES ? body : corked(body), { status, headers })
  }

  private headers(readings: Readings = this.verdict.readings): Record<string, string> {
    return { ...idHeaders(this.ids), ...limitHeaders(readings), ...this.more }
  }

  private note(status: number, code: string | null): void {
    if (this.verdict.caller.kind === 'anonymous') return
    const record = callRecord(this.verdict, operationOf(this.incoming.route), {
      status,
      code,
      charged: null,
      now: this.now(),
    })
    this.journal.note(this.model === null ? record : { ...record, model: this.model })
  }
}

function operationOf(route: Route): string {
  return route.kind === 'priced' ? route.operation : route.kind === 'free' ? route.name : 'none'
}

function corked(body: string | Uint8Array<ArrayBuffer>): ReadableStream {
  // Bun's own kind of source; the DOM's types do not know it.
  const direct = {
    type: 'direct',
    async pull(controller: { write(chunk: string | Uint8Array): void; close(): void }) {
      controller.write(body)
      controller.close()
    },
  } as unknown as UnderlyingDefaultSource
  return new ReadableStream(direct)
}
