import { err, ok, type Result } from '../../../server/core/result'
import type {
  ActingAccount,
  AuthorizationRequest,
  Done,
  Grant,
  GrantRefusal,
  NetworkFailure,
  SocialAction,
  SocialNetwork,
} from '../../../server/core/social/network'
import { SOCIAL_SCOPES } from '../../../server/core/social/scopes'

/**
 * A network that keeps every rule of the port and does what the test wants. Its refresh tokens work once, so that a gateway
 * that used one twice would be seen.
 */
export class FixtureNetwork implements SocialNetwork {
  readonly name = 'sandbox'
  readonly asked: { readonly actor: ActingAccount; readonly action: SocialAction }[] = []
  readonly revoked: string[] = []
  readonly codes = new Map<string, { verifier: string | null; user: string }>()
  refreshes = 0
  exchanges = 0
  /** Seconds that a new access token lives. */
  lifetime = 7200
  givesRefreshToken = true
  granted: string | null = [...SOCIAL_SCOPES, 'offline.access'].join(' ')
  /** The answers to the next calls in place of a success. */
  actFailure: NetworkFailure | null = null
  refreshRefusal: GrantRefusal | null = null
  /** Awaited before a renewal is answered. */
  refreshGate: Promise<void> = Promise.resolve()
  meFailure: NetworkFailure | null = null
  readonly goodAccess = new Set<string>()
  private readonly goodRefresh = new Set<string>()
  private count = 0

  authorizeUrl({ state, challenge, scopes, redirectUri }: AuthorizationRequest): string {
    const query = new URLSearchParams({
      state,
      code_challenge: challenge,
      scope: scopes.join(' '),
      redirect_uri: redirectUri,
    })
    return `https://network.example/authorize?${query}`
  }

  async exchange(code: string, verifier: string): Promise<Result<Grant, GrantRefusal>> {
    this.exchanges++
    const known = this.codes.get(code)
    if (!known || known.verifier !== null) return err({ kind: 'dead', reason: 'unknown or spent code' })
    this.codes.set(code, { ...known, verifier })
    return ok(this.grant())
  }

  async refresh(refreshToken: string): Promise<Result<Grant, GrantRefusal>> {
    this.refreshes++
    await this.refreshGate
    if (this.refreshRefusal) return err(this.refreshRefusal)
    if (!this.goodRefresh.delete(refreshToken)) return err({ kind: 'dead', reason: 'unknown or spent refresh token' })
    return ok(this.grant())
  }

  async revoke(token: string): Promise<boolean> {
    this.revoked.push(token)
    return true
  }

  async me(): Promise<Result<{ id: string; username: string; name: string }, NetworkFailure>> {
    return this.meFailure ? err(this.meFailure) : ok({ id: '1001', username: 'ada', name: 'Ada Lovelace' })
  }

  async act(actor: ActingAccount, action: SocialAction): Promise<Result<Done, NetworkFailure>> {
    this.asked.push({ actor, action })
    if (!this.goodAccess.has(actor.accessToken)) return err({ kind: 'token_refused', reason: 'unknown access token' })
    return this.actFailure ? err(this.actFailure) : ok({ data: { done: action.kind } })
  }

  /** The access tokens that were given so far work no longer. */
  expireAccess(): void {
    this.goodAccess.clear()
  }

  private grant(): Grant {
    const id = ++this.count
    this.goodAccess.add(`access-${id}`)
    this.goodRefresh.add(`refresh-${id}`)
    return {
      access: `access-${id}`,
      refresh: this.givesRefreshToken ? `refresh-${id}` : null,
      expiresInSeconds: this.lifetime,
      scope: this.granted,
    }
  }
}
