import type { Clock } from '../../../core/clock'
import { isJson } from '../../../core/json'
import { err, ok, type Result } from '../../../core/result'
import type {
  ActingAccount,
  AuthorizationRequest,
  Done,
  Grant,
  GrantRefusal,
  NetworkFailure,
  SocialAction,
  SocialNetwork,
} from '../../../core/social/network'
import type { NetworkName, SocialUser } from '../../../core/social/session'
import { doneOf, requestOf } from './actions'
import { jsonObject, networkFailure, onlyErrors, refusedByNetwork } from './problems'
import { sendToNetwork, type Transport, type WireOutcome, type WireRequest, type WireResponse } from './wire'

export interface XNetworkOptions {
  readonly name: NetworkName
  /** Where a person approves. */
  readonly authorizeUrl: string
  /** Before `/2/...`, without a slash at its end. */
  readonly apiUrl: string
  readonly clientId: string
  /** Null for a public client (RFC 6749 2.1). */
  readonly clientSecret: string | null
  readonly transport: Transport
  readonly clock: Clock
  /** Timeout of one request. */
  readonly timeoutMs: number
}

/** Token endpoint errors for a code or refresh token that will never be accepted. X uses `invalid_request` for it. */
const DEAD = new Set(['invalid_grant', 'invalid_request'])

/**
 * The X API v2 with OAuth 2.0 and PKCE. The sandbox network speaks the same wire, so the same code
 * talks to both: only addresses and transport differ.
 * https://docs.x.com/fundamentals/authentication/oauth-2-0/authorization-code
 */
export class XNetwork implements SocialNetwork {
  readonly name: NetworkName
  private readonly options: XNetworkOptions

  constructor(options: XNetworkOptions) {
    this.options = options
    this.name = options.name
  }

  authorizeUrl({ state, challenge, scopes, redirectUri }: AuthorizationRequest): string {
    const query = Object.entries({
      response_type: 'code',
      client_id: this.options.clientId,
      redirect_uri: redirectUri,
      scope: scopes.join(' '),
      state,
      code_challenge: challenge,
      code_challenge_method: 'S256',
    })
    // Spaces as %20: `+` is not decoded everywhere.
    return `${this.options.authorizeUrl}?${query.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&')}`
  }

  exchange(
    code: string,
    verifier: string,
    redirectUri: string,
    signal: AbortSignal,
  ): Promise<Result<Grant, GrantRefusal>> {
    const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier }
    return this.granted(form, signal)
  }

  refresh(refreshToken: string, signal: AbortSignal): Promise<Result<Grant, GrantRefusal>> {
    return this.granted({ grant_type: 'refresh_token', refresh_token: refreshToken }, signal)
  }

  async revoke(token: string, signal: AbortSignal): Promise<boolean> {
    const sent = await this.asClient('/2/oauth2/revoke', { token }, signal)
    return sent.kind === 'answered' && sent.status === 200
  }

  async me(accessToken: string, signal: AbortSignal): Promise<Result<SocialUser, NetworkFailure>> {
    const request = { method: 'GET', path: '/2/users/me' } as const
    const answer = await this.asUser(accessToken, request, signal)
    if (!answer.ok) return answer
    const { data } = answer.value.body
    if (!isJson(data) || typeof data['id'] !== 'string' || typeof data['username'] !== 'string')
      return err({ kind: 'unavailable', reason: 'the account in the response has no id' })
    const { id, username, name } = data
    return ok({ id, username, name: typeof name === 'string' ? name : username })
  }

  async act(actor: ActingAccount, action: SocialAction, signal: AbortSignal): Promise<Result<Done, NetworkFailure>> {
    const request = requestOf(actor, action)
    const answer = await this.asUser(actor.accessToken, request, signal)
    if (!answer.ok) return answer
    const { sent, body } = answer.value
    if (sent.status === 204 && action.kind === 'delete') return ok({ data: { deleted: true } })
    const done = doneOf(action, body)
    if (done) return ok(done)
    if (Array.isArray(body['errors'])) return err(onlyErrors(sent, body))
    if (isJson(body['data']))
      return err(refusedByNetwork(sent, 400, `the network did not perform the action: ${action.kind}`))
    const reason = `a ${sent.status} that is no answer to ${action.kind}`
    return err({ kind: request.method === 'GET' ? 'unavailable' : 'unknown', reason })
  }

  private async asUser(
    accessToken: string,
    { path, ...request }: Omit<WireRequest, 'url' | 'authorization'> & { readonly path: string },
    signal: AbortSignal,
  ): Promise<Result<{ sent: WireResponse; body: Readonly<Record<string, unknown>> }, NetworkFailure>> {
    const isWrite = request.method !== 'GET'
    const sent = await this.send(
      { ...request, url: this.options.apiUrl + path, authorization: `Bearer ${accessToken}` },
      signal,
    )
    if (sent.kind === 'not_sent') return err({ kind: 'unavailable', reason: sent.reason })
    if (sent.kind === 'no_answer') return err({ kind: 'unknown', reason: sent.reason })
    if (sent.status < 200 || sent.status > 299) return err(networkFailure(sent, isWrite, this.options.clock.now()))
    const body = jsonObject(sent.text || '{}')
    return body
      ? ok({ sent, body })
      : err({ kind: isWrite ? 'unknown' : 'unavailable', reason: 'a success response that is not JSON' })
  }

  private async granted(
    form: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<Result<Grant, GrantRefusal>> {
    const sent = await this.asClient('/2/oauth2/token', form, signal)
    if (sent.kind === 'not_sent') return err({ kind: 'unavailable', reason: sent.reason })
    if (sent.kind === 'no_answer') return err({ kind: 'unknown', reason: sent.reason })
    const body = jsonObject(sent.text)
    if (sent.status === 200 && typeof body?.['access_token'] === 'string')
      return ok(grantOf(body, body['access_token']))
    const error = typeof body?.['error'] === 'string' ? body['error'].slice(0, 60) : ''
    const reason = `${sent.status} ${error}`.trim()
    if (sent.status === 400 && DEAD.has(error)) return err({ kind: 'dead', reason })
    if (sent.status === 429 || sent.status === 503) return err({ kind: 'unavailable', reason })
    // An unreadable 200, or a failure in transit: the old refresh token may already be used up.
    return err({ kind: sent.status === 200 || sent.status >= 500 ? 'unknown' : 'about_us', reason })
  }

  /** A confidential client sends its id and secret in the header only; a public client sends its id in the body. */
  private asClient(path: string, form: Readonly<Record<string, string>>, signal: AbortSignal): Promise<WireOutcome> {
    const { apiUrl, clientId, clientSecret } = this.options
    const pair = `${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret ?? '')}`
    return this.send(
      {
        method: 'POST',
        url: apiUrl + path,
        authorization: clientSecret === null ? null : `Basic ${btoa(pair)}`,
        form: clientSecret === null ? { ...form, client_id: clientId } : form,
      },
      signal,
    )
  }

  private send(request: WireRequest, signal: AbortSignal): Promise<WireOutcome> {
    const { transport, timeoutMs } = this.options
    return sendToNetwork(transport, request, AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]))
  }
}

/** Two hours if the response does not say. */
function grantOf(body: Readonly<Record<string, unknown>>, access: string): Grant {
  const { expires_in: seconds, refresh_token: refresh, scope } = body
  return {
    access,
    refresh: typeof refresh === 'string' ? refresh : null,
    expiresInSeconds: typeof seconds === 'number' && seconds > 0 ? seconds : 7200,
    scope: typeof scope === 'string' ? scope : null,
  }
}
