import { failure } from '../../core/failure'
import type { ShownPayment } from '../../core/payments/method'
import { reauthorize } from '../../pipeline/auth/authenticate'
import type { IncomingCall, Route, Verdict } from '../../pipeline/call'
import type { Decisions } from '../../pipeline/decisions'
import { hasTwoKeys, otherSecrets, readCredential } from './caller/credential'
import type { GatedContext, RequestContext } from './request-context'
import { idsOf, requestIds } from './request-ids'
import { Reply, type ReplyDeps } from './response/reply'

export interface GateOptions extends ReplyDeps {
  readonly decisions: Pick<Decisions, 'authenticate' | 'leave'>
  readonly limits: Parameters<typeof reauthorize>[0]
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
    const { headers } = request
    const { ownKey } = origin
    const others = otherSecrets(headers, queryKeys, path)
    const incoming: IncomingCall = {
      id: ids.own,
      clientRequestId: ids.client,
      at,
      credential: ownKey ? { kind: 'own_key', id: ownKey.id } : readCredential(headers, path, others, route),
      address,
      // A key in the query is taken out of it, and goes no further.
      request: queryKeys.length === 0 ? request : { method: request.method, url: context.url.href },
      route: !ownKey && hasTwoKeys(headers, others) ? TWO_KEYS : route,
      budgetScope: null,
      trace: telemetry.tracer?.begin(headers.get('traceparent')) ?? null,
    }
    const verdict = decisions.authenticate(incoming)
    return verdict instanceof Promise ? this.openedLater(context, verdict) : this.opened(context, verdict)
  }

  private async openedLater(context: RequestContext, verdict: Promise<Verdict>): Promise<Reply> {
    return this.opened(context, await verdict)
  }

  private opened(context: RequestContext, verdict: Verdict): Reply {
    const { caller, incoming } = verdict
    if (caller.kind !== 'anonymous') context.countBodyOn(caller.account.id)
    if (incoming.id !== context.ids.own) context.ids = idsOf(incoming.id, incoming.clientRequestId)
    const reply = new Reply(verdict, context.ids, context.path, this.options)
    if (!('failure' in verdict)) {
      incoming.trace?.step('read')
      context.reply = reply
      context.authenticated = verdict
    }
    return reply
  }

  /** The request is answered: gives back what its call never used. Null if there is nothing to wait for. */
  leave({ authenticated }: RequestContext): Promise<void> | null {
    return authenticated && this.options.decisions.leave(authenticated)
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
  ): Promise<Reply> {
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
      budgetScope: null,
      trace: outer.trace?.within() ?? null,
    }
    const verdict = payment ? await decisions.authenticate(incoming) : reauthorize(limits, authenticated, incoming)
    return new Reply(verdict, ids, url.pathname, this.options)
  }
}

/** The call would be charged to one key, and which one could only be guessed. */
const TWO_KEYS: Route = {
  kind: 'unmatched',
  failure: failure('invalid_request', 'The request contains two different API keys. Send one.'),
}
