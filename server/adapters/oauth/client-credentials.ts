import type { Api, UpstreamAuth } from '../../core/apis/api'
import type { SecretsOf, UpstreamTokens } from '../../core/apis/secrets'
import { type Clock, MINUTE_MS } from '../../core/clock'
import type { OutboundFetch } from '../../core/outbound/outbound-fetch'
import { codeOf, oauthFetch } from './oauth-fetch'

/** A token is renewed this long before it expires, or at half of its life if that is shorter. */
const BEFORE_EXPIRY_MS = 30_000
/** The life of a token whose endpoint names none. */
const USUAL_LIFE_MS = 5 * MINUTE_MS
/** A token that was refused within this time is not renewed, and a token endpoint that failed is not asked again. */
const PAUSE_MS = 10_000
const MAX_WAIT_MS = 10_000

type ClientCredentials = Extract<UpstreamAuth, { kind: 'oauth2' }>

interface Fetched {
  /** Null: the endpoint gave none. */
  readonly token: string | null
  readonly fetchedAt: number
  readonly validUntil: number
}

export interface ClientCredentialsDeps {
  readonly fetch: OutboundFetch
  readonly secretsOf: SecretsOf
  readonly clock: Clock
  /** `reason` holds no secret. */
  readonly onTrouble: (upstream: string, reason: string) => void
}

/**
 * Fetches access tokens with client credentials (RFC 6749, 4.4), through the guarded way out. A token is kept in memory only, until shortly
 * before it expires, and fetched once for all calls that wait for it.
 */
export class ClientCredentialTokens implements UpstreamTokens {
  private readonly deps: ClientCredentialsDeps
  private readonly cache = new Map<string, Fetched>()
  private readonly underWay = new Map<string, Promise<string | null>>()

  constructor(deps: ClientCredentialsDeps) {
    this.deps = deps
  }

  async token(api: Api, timeoutMs: number): Promise<string | null> {
    const { auth, name } = api
    if (auth.kind !== 'oauth2') return null
    const secret = this.deps.secretsOf(name, auth.secret)
    if (secret === null) return null
    const id = idOf(name, auth, secret)
    const cached = this.cache.get(id)
    if (cached && cached.validUntil > this.deps.clock.now()) return cached.token
    const running = this.underWay.get(id)
    if (running !== undefined) return running
    const fetching = this.fetched(id, api.name, auth, secret, Math.min(timeoutMs, MAX_WAIT_MS)).finally(() =>
      this.underWay.delete(id),
    )
    this.underWay.set(id, fetching)
    return fetching
  }

  renew({ auth, name }: Api, token: string): boolean {
    if (auth.kind !== 'oauth2') return false
    const secret = this.deps.secretsOf(name, auth.secret)
    if (secret === null) return false
    const id = idOf(name, auth, secret)
    const cached = this.cache.get(id)
    if (cached?.token !== token) return true // another call has renewed it
    if (this.deps.clock.now() - cached.fetchedAt < PAUSE_MS) return false
    this.cache.delete(id)
    return true
  }

  private async fetched(
    id: string,
    api: string,
    auth: ClientCredentials,
    secret: string,
    timeoutMs: number,
  ): Promise<string | null> {
    const now = this.deps.clock.now()
    for (const [other, { validUntil }] of this.cache) if (validUntil <= now) this.cache.delete(other)
    try {
      const { access_token: token, expires_in: seconds } = await this.grant(auth, secret, timeoutMs)
      const lifeMs = seconds === undefined ? USUAL_LIFE_MS : seconds * 1000
      const validUntil = now + Math.max(lifeMs / 2, lifeMs - BEFORE_EXPIRY_MS)
      this.cache.set(id, { token, fetchedAt: now, validUntil })
      return token
    } catch (error) {
      this.deps.onTrouble(`api ${api}`, `its token endpoint gave no token: ${codeOf(error)}`)
      this.cache.set(id, { token: null, fetchedAt: now, validUntil: now + PAUSE_MS })
      return null
    }
  }

  private async grant({ tokenUrl, clientId, scope }: ClientCredentials, secret: string, timeoutMs: number) {
    const oauth = await import('openid-client')
    const server = { issuer: new URL(tokenUrl).origin, token_endpoint: tokenUrl }
    const config = new oauth.Configuration(server, clientId, undefined, oauth.ClientSecretBasic(secret))
    config[oauth.customFetch] = oauthFetch(this.deps.fetch, timeoutMs)
    // Whether plain HTTP is allowed was checked when the API was saved.
    oauth.allowInsecureRequests(config)
    return oauth.clientCredentialsGrant(config, scope === null ? {} : { scope })
  }
}

/** The identity of a token. A changed secret, scope or endpoint is another one. */
function idOf(api: string, { tokenUrl, clientId, scope }: ClientCredentials, secret: string): string {
  return JSON.stringify([api, tokenUrl, clientId, scope, Bun.hash(secret).toString(36), secret.length])
}
