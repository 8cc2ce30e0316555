import { ACCESS_TOKEN_PREFIX } from '../../core/credentials/oauth-grant'
import type { Journal } from '../../core/ledger/journal'
import type { ShownPayment } from '../../core/payments/method'
import type { Result } from '../../core/result'
import { type AuthDeps, authenticate, reauthorize } from '../../pipeline/auth/authenticate'
import type { AuthenticatedCall, Credential, IncomingCall, Refused, Route } from '../../pipeline/call'
import { isGooglePath } from '../routing/google-path'
import { audienceOf } from './audience'
import { OwnKeyRequest } from './own-key-request'
import { Reply } from './reply'
import type { GatedContext, RequestContext } from './request-context'
import { type RequestIds, requestIds } from './request-ids'

export interface GateOptions {
  readonly auth: AuthDeps
  readonly journal: Pick<Journal, 'note'>
  /** Public origin. */
  readonly baseUrl: string
}

const NO_HEADERS = new Headers()

/** Authenticates requests to gated paths before they are routed. */
export class Gate {
  private readonly options: GateOptions

  constructor(options: GateOptions) {
    this.options = options
  }

  /**
   * Authenticates a request for its route. If it passes, its reply and caller are set on the context; if not, the reply has a
   * `refusal` to return.
   */
  async open(context: RequestContext, route: Route): Promise<Reply> {
    const { auth } = this.options
    const { ids, address, at, url, request } = context
    const path = url.pathname
    const incoming: IncomingCall = {
      id: ids.own,
      clientRequestId: ids.client,
      at,
      credential:
        request instanceof OwnKeyRequest
          ? { kind: 'own_key', id: request.key }
          : readCredential(request.headers, path, route),
      address,
      request,
      route,
    }
    const passed = await authenticate(auth, incoming)
    const { caller } = passed.ok ? passed.value : passed.error
    if (caller.kind !== 'anonymous') context.countBodyOn(caller.account.id)
    const reply = this.reply(passed, ids, path)
    if (passed.ok) {
      context.reply = reply
      context.authenticated = passed.value
    }
    return reply
  }

  /** Counts a request against its address that was not counted before, because its payment might be in the body (`paymentInBody`). */
  count(context: RequestContext): Promise<Reply> {
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
    const { auth } = this.options
    const at = auth.clock.now()
    const ids = requestIds(NO_HEADERS, at)
    const incoming: IncomingCall = {
      ...{ id: ids.own, clientRequestId: ids.client, at, address, route, request: { method, url: url.href } },
      credential: payment ? { kind: 'payment', shown: payment } : authenticated.incoming.credential,
    }
    const passed = payment ? await authenticate(auth, incoming) : await reauthorize(auth, authenticated, incoming)
    return { reply: this.reply(passed, ids, url.pathname), authenticated: passed.ok ? passed.value : null }
  }

  private reply(passed: Result<AuthenticatedCall, Refused>, ids: RequestIds, path: string): Reply {
    const { auth, journal, baseUrl } = this.options
    const verdict = passed.ok ? passed.value : passed.error
    return new Reply({ verdict, ids, path, journal, now: () => auth.clock.now(), origin: baseUrl })
  }
}

/**
 * The caller's credential (spec 5.1, 5.3). `Authorization: Bearer` carries a key or an app's access token; `/v1/messages` also takes
 * `x-api-key`, and Google's paths `x-goog-api-key`. `Authorization: Payment` and x402's `PAYMENT-SIGNATURE` pay for one request.
 * After a 402, x402 clients send the payment along with the original key; where payments are accepted, the payment wins.
 * An `Authorization` with another scheme is an unknown credential, never "none".
 */
function readCredential(headers: Headers, path: string, route: Route): Credential {
  const authorization = headers.get('authorization')
  const payment = authorization === null ? null : /^payment +(\S+) *$/i.exec(authorization)
  if (payment?.[1]) return { kind: 'payment', shown: { scheme: 'payment', text: payment[1] } }
  const x402 = headers.get('payment-signature')
  if (x402 && (authorization === null || (route.kind === 'priced' && route.payable)))
    return { kind: 'payment', shown: { scheme: 'x402', text: x402 } }
  if (authorization !== null) {
    const bearer = /^bearer +(\S+) *$/i.exec(authorization)?.[1] ?? ''
    if (bearer.startsWith(ACCESS_TOKEN_PREFIX))
      return { kind: 'oauth_token', token: bearer, audience: audienceOf(path) }
    return { kind: 'api_key', secret: bearer }
  }
  const named = path === '/v1/messages' ? 'x-api-key' : isGooglePath(path) ? 'x-goog-api-key' : null
  const secret = named && headers.get(named)
  return secret ? { kind: 'api_key', secret } : { kind: 'none' }
}
