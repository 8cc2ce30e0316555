import type { Clock } from '../../core/clock'
import { failure } from '../../core/failure'
import type { Journal } from '../../core/ledger/journal'
import type { ShownPayment } from '../../core/payments/method'
import type { Result } from '../../core/result'
import type { Telemetry } from '../../core/telemetry/telemetry'
import { reauthorize } from '../../pipeline/auth/authenticate'
import type { AuthenticatedCall, IncomingCall, Refused, Route } from '../../pipeline/call'
import type { Decisions } from '../../pipeline/decisions'
import { hasTwoKeys, otherSecrets, readCredential } from './caller/credential'
import type { GatedContext, RequestContext } from './request-context'
import { type RequestIds, requestIds } from './request-ids'
import { Reply } from './response/reply'
import type { UnreadAnswers } from './response/unread-answers'

export interface GateOptions {
  readonly decisions: Pick<Decisions, 'authenticate'>
  readonly limits: Parameters<typeof reauthorize>[0]
  readonly clock: Clock
  readonly journal: Pick<Journal, 'note'>
  readonly telemetry: Telemetry
  /** Public origin. */
  readonly baseUrl: string
  readonly unread: UnreadAnswers
}

const NO_HEADERS = new Headers()

/** Authenticates requests to gated paths. */
export class Gate {
  private readonly options: GateOptions

  constructor(options: GateOptions) {
    this.options = options
  }

  /**
   * Authenticates a request for its route. If it passes, its reply and caller are set on the context; if not, the reply has a
   * `refusal` to return.
   */
  open(context: RequestContext, route: Route): Reply | Promise<Reply> {
    const { decisions, telemetry } = this.options
    const { ids, address, at, path, request, queryKeys, origin } = context
    const others = otherSecrets(request.headers, queryKeys, path)
    const { ownKey } = origin
    const incoming: IncomingCall = {
      id: ids.own,
      clientRequestId: ids.client,
      at,
      credential: ownKey
        ? { kind: 'own_key', id: ownKey.id }
        : readCredential(request.headers, { path, others, route }),
      address,
      // A key in the query is taken out of it, and goes no further.
      request: queryKeys.length === 0 ? request : { method: request.method, url: context.url.href },
      route: !ownKey && hasTwoKeys(request.headers, others) ? TWO_KEYS : route,
      trace: telemetry.tracer?.begin(ids.own, request.headers.get('traceparent')) ?? null,
    }
    const passing = decisions.authenticate(incoming)
    return passing instanceof Promise
      ? passing.then((passed) => this.opened(context, incoming, passed))
      : this.opened(context, incoming, passing)
  }

  private opened(context: RequestContext, incoming: IncomingCall, passed: Result<AuthenticatedCall, Refused>): Reply {
    const { caller } = passed.ok ? passed.value : passed.error
    if (caller.kind !== 'anonymous') context.countBodyOn(caller.account.id)
    const reply = this.reply(passed, context.ids, context.path)
    if (passed.ok) {
      incoming.trace?.step('read')
      context.reply = reply
      context.authenticated = passed.value
    }
    return reply
  }

  /** Counts a request against its address that was not counted before, because its payment might be in the body (`paymentInBody`). */
  count(context: RequestContext): Reply | Promise<Reply> {
    return this.open(context, { kind: 'public' })
  }

  /**
   * Opens a call inside another, such as an MCP tool call: as the caller that is already authenticated, who is neither looked up
   * nor counted again, or with its own payment, which is verified like any other.
   */
  async openWithin(
    { address, authenticated }: GatedContext,
    { route, method, url }: { readonly route: Route; readonly method: string; readonly url: URL },
    payment: ShownPayment | null,
  ): Promise<{ readonly reply: Reply; readonly authenticated: AuthenticatedCall | null }> {
    const { decisions, limits, clock } = this.options
    const at = clock.now()
    const outer = authenticated.incoming
    const ids = requestIds(NO_HEADERS, at)
    const incoming: IncomingCall = {
      id: ids.own,
      clientRequestId: ids.client,
      at,
      address,
      route,
      request: { method, url: url.href },
      credential: payment ? { kind: 'payment', shown: payment } : outer.credential,
      trace: outer.trace?.within(ids.own) ?? null,
    }
    const passed = payment ? await decisions.authenticate(incoming) : reauthorize(limits, authenticated, incoming)
    return { reply: this.reply(passed, ids, url.pathname), authenticated: passed.ok ? passed.value : null }
  }

  private reply(passed: Result<AuthenticatedCall, Refused>, ids: RequestIds, path: string): Reply {
    const { clock, journal, telemetry, baseUrl, unread } = this.options
    const deps = { clock, journal, telemetry }
    const verdict = passed.ok ? passed.value : passed.error
    return new Reply({ verdict, ids, path, deps, origin: baseUrl, unread })
  }
}

/** The call would be charged to one key, and which one could only be guessed. */
const TWO_KEYS: Route = {
  kind: 'unmatched',
  failure: failure('invalid_request', 'The request contains two different API keys. Send one.'),
}
