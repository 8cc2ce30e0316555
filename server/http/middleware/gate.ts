import type { Failure } from '../../core/failure'
import type { Journal } from '../../core/ledger/journal'
import { type AuthDeps, authenticate, reauthorize } from '../../pipeline/auth/authenticate'
import type { IncomingCall, Route } from '../../pipeline/call'
import { routeOf } from '../routing/endpoints'
import { InnerRequest } from '../routing/inner-calls'
import { readCredential } from './read-credential'
import { Reply } from './reply'
import type { RequestContext } from './request-context'

export interface GateOptions {
  readonly auth: AuthDeps
  readonly journal: Pick<Journal, 'note'>
  /** Public origin. */
  readonly baseUrl: string
}

/** Authenticates the requests of gated paths, before the router sees them. */
export class Gate {
  private readonly options: GateOptions

  constructor(options: GateOptions) {
    this.options = options
  }

  /**
   * Authenticates a request for its route. A call that passes has its reply on its context from then on; one that is refused is
   * answered with the reply's `refusal`. With `closed`, that is the verdict: windows are read, nothing is taken.
   */
  open(context: RequestContext, closed: Failure | null = null): Promise<Reply> {
    const { request, url } = context
    return this.pass(context, closed ? { kind: 'unmatched', failure: closed } : routeOf(request.method, url.pathname))
  }

  /** Counts a request on its address that was let in uncounted, because what pays might be in its body (`paymentInBody`). */
  count(context: RequestContext): Promise<Reply> {
    return this.pass(context, { kind: 'public' })
  }

  private async pass(context: RequestContext, route: Route): Promise<Reply> {
    const { auth, journal, baseUrl } = this.options
    const { ids, address, at, url, request } = context
    const path = url.pathname
    const inner = request instanceof InnerRequest ? request.from : null
    const incoming: IncomingCall = {
      id: ids.own,
      clientRequestId: ids.client,
      at,
      credential: inner?.credential ?? readCredential(request.headers, path, route),
      address,
      request,
      route,
    }
    const passed = inner?.authenticated
      ? reauthorize(inner.authenticated, incoming)
      : await authenticate(auth, incoming)
    const verdict = passed.ok ? passed.value : passed.error
    if (verdict.caller.kind !== 'anonymous') context.countBodyOn(verdict.caller.account.id)
    const reply = new Reply({ verdict, ids, path, journal, now: () => auth.clock.now(), origin: baseUrl })
    if (passed.ok) {
      context.reply = reply
      context.authenticated = passed.value
    }
    return reply
  }
}
