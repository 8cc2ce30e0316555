import { type AuditEntry, auditEntry, type Actor as Who } from '../audit'
import type { Clock } from '../clock'
import { type Failure, failure } from '../failure'
import type { PoolId, SocialSessionId } from '../ids'
import { no, ok, type Result } from '../result'
import { type Sealing, Unsealable } from '../sealing'
import type { OnSocialChange } from './changes'
import type { Actor, GrantRefusal, NetworkFailure, SocialNetwork } from './network'
import { SCOPE_MEANINGS, type SocialScope } from './scopes'
import { accessToken, grantToken, refreshToken, sealedTokens } from './sealed-tokens'
import { type SocialSession, sessionState } from './session'
import type { SocialStore } from './store'

/** What the gateway tells by itself, before the network is asked; or what the network said. */
export type UseFailure = NetworkFailure | { readonly kind: 'told'; readonly failure: Failure }

export interface LinkedAccountsParts {
  readonly store: SocialStore
  readonly network: SocialNetwork
  readonly sealing: Sealing
  readonly clock: Clock
  readonly onChange: OnSocialChange
  readonly onTrouble: (reason: string) => void
}

/** An access token is renewed when less than this is left of it. */
const RENEW_BEFORE_MS = 5 * 60 * 1000
/** A renewal is not tied to the call that began it: others wait for it, and its pair must be saved. */
const RENEWAL_MS = 12_000

/** Renewing ends the token before, so it is done no oftener than it must. */
const IDLE_MS = 7 * 24 * 60 * 60 * 1000
const IDLE_AT_ONCE = 100

const LINK_AGAIN = 'Call POST /apis/v1/social/auth_social and let the user approve.'
const CHANGED = `The linked account was changed meanwhile. ${LINK_AGAIN}`

/**
 * The linked accounts of keys, used (spec 2.3): the scope is checked before the network is asked, tokens are renewed by
 * themselves, each session by one renewal at a time, and the new pair is durable before it is used. When the network says that
 * a grant is dead, the session is `revoked` for good, until somebody links again.
 */
export class LinkedAccounts {
  private readonly parts: LinkedAccountsParts
  private readonly renewals = new Map<SocialSessionId, Promise<Result<SocialSession, UseFailure>>>()

  constructor(parts: LinkedAccountsParts) {
    this.parts = parts
  }

  /** Lets the pool's account act. `act` may run twice, when the network refused the first token without doing anything. */
  async use<T>(
    key: { readonly poolId: PoolId },
    scope: SocialScope,
    act: (actor: Actor, session: SocialSession) => Promise<Result<T, NetworkFailure>>,
  ): Promise<Result<T, UseFailure>> {
    try {
      return await this.tried(key.poolId, scope, act)
    } catch (error) {
      if (!(error instanceof Unsealable)) throw error
      this.parts.onTrouble(error.message)
      return required(`The stored link of this API key cannot be opened any more. ${LINK_AGAIN}`)
    }
  }

  private async tried<T>(
    pool: PoolId,
    scope: SocialScope,
    act: (actor: Actor, session: SocialSession) => Promise<Result<T, NetworkFailure>>,
  ): Promise<Result<T, UseFailure>> {
    const usable = await this.usable(pool, scope)
    if (!usable.ok) return usable
    const fresh = await this.fresh(usable.value)
    if (!fresh.ok) return fresh
    const first = await act(this.actor(fresh.value), fresh.value)
    if (first.ok || first.error.kind !== 'token_refused') return first
    const renewed = await this.renewed(fresh.value)
    if (!renewed.ok) return renewed
    const second = await act(this.actor(renewed.value), renewed.value)
    if (second.ok || second.error.kind !== 'token_refused') return second
    return no({ kind: 'about_us', reason: `a token that was just renewed was refused: ${second.error.reason}` })
  }

  /**
   * Renews accounts that nobody used for a week, one after the other: a refresh token that lies unused dies after some months
   * (facts/upstreams 5.2), and a grant that was withdrawn shows as such without a call. Answers how many it looked at. One that
   * cannot be renewed now is left for the next time.
   */
  async renewIdle(signal: AbortSignal): Promise<number> {
    const { store, network, clock, onTrouble } = this.parts
    const now = clock.now()
    const idle = await store.idleSessions({ network: network.name, idleSince: now - IDLE_MS, now, limit: IDLE_AT_ONCE })
    let looked = 0
    for (const session of idle) {
      if (signal.aborted) break
      looked++
      try {
        const renewed = await this.renewed(session)
        if (!renewed.ok && renewed.error.kind !== 'told') onTrouble(`idle account: ${renewed.error.reason}`)
      } catch (error) {
        if (!(error instanceof Unsealable)) throw error
        onTrouble(error.message)
      }
    }
    return looked
  }

  /** Forgets the account here, and then revokes the grant at the network, as well as it goes. False when there is none. */
  async unlink(session: SocialSession, actor: Who, signal: AbortSignal): Promise<boolean> {
    const { store, network, sealing, onChange, onTrouble } = this.parts
    const removed = await store.removeSession(session.id, this.audit(session, 'social.unlink', actor))
    if (!removed) return false
    onChange({ accountId: session.accountId, keyId: session.keyId, what: 'unlinked' })
    if (session.revokedAt !== null || session.network !== network.name) return true
    try {
      if (!(await network.revoke(grantToken(sealing, session), signal)))
        onTrouble('the network did not take the revocation of an unlinked account')
    } catch (error) {
      if (!(error instanceof Unsealable)) throw error
      onTrouble(error.message)
    }
    return true
  }

  private async usable(pool: PoolId, scope: SocialScope): Promise<Result<SocialSession, UseFailure>> {
    const { store, network, clock, onChange } = this.parts
    const session = await store.session(pool)
    if (!session || session.network !== network.name)
      return required(`No social account is linked to this API key. ${LINK_AGAIN}`)
    const who = `@${session.user.username}`
    const state = sessionState(session, clock.now())
    if (state === 'revoked') return required(`${who} withdrew the access of this API key. ${LINK_AGAIN}`)
    if (state === 'expired') return required(`The link of ${who} to this API key has expired. ${LINK_AGAIN}`)
    if (session.scopes.includes(scope)) return ok(session)
    if (session.missingScope !== scope) {
      await store.noteMissingScope(session.id, scope)
      onChange({ accountId: session.accountId, keyId: session.keyId, what: 'scope_missing' })
    }
    return told(
      failure(
        'insufficient_scope',
        `${who} did not grant the scope ${scope} (${SCOPE_MEANINGS[scope].toLowerCase()}). Call POST /apis/v1/social/auth_social with "${scope}" among its scopes, or without scopes for all of them, and let the user approve again.`,
        { param: scope },
      ),
    )
  }

  private async fresh(session: SocialSession): Promise<Result<SocialSession, UseFailure>> {
    const now = this.parts.clock.now()
    const { refresh, accessExpiresAt } = session.tokens
    if (refresh === null || accessExpiresAt - now > RENEW_BEFORE_MS) return ok(session)
    const renewed = await this.renewed(session)
    // A renewal that failed on the way is no reason to stop while the old token still lives (facts/upstreams 5.2).
    if (!renewed.ok && renewed.error.kind !== 'told' && accessExpiresAt > now) return ok(session)
    return renewed
  }

  /** One renewal of a session at a time; who comes while it runs gets what it gives. */
  private renewed(session: SocialSession): Promise<Result<SocialSession, UseFailure>> {
    const running = this.renewals.get(session.id)
    if (running !== undefined) return running
    const renewal = this.renew(session).finally(() => this.renewals.delete(session.id))
    this.renewals.set(session.id, renewal)
    return renewal
  }

  private async renew(seen: SocialSession): Promise<Result<SocialSession, UseFailure>> {
    const { store, network, sealing, clock } = this.parts
    const session = await store.session(seen.poolId)
    if (!session || session.id !== seen.id || session.revokedAt !== null) return required(CHANGED)
    // Another renewal ended between the caller's look and this one.
    if (session.tokens.access !== seen.tokens.access) return ok(session)
    const token = refreshToken(sealing, session)
    if (token === null) return this.dead(session, 'its token was refused, and there is no other')
    const grant = await network.refresh(token, AbortSignal.timeout(RENEWAL_MS))
    if (!grant.ok)
      return grant.error.kind === 'dead' ? this.dead(session, grant.error.reason) : no(asFailure(grant.error))
    const now = clock.now()
    const tokens = sealedTokens(sealing, session.id, grant.value, now, token)
    if (!(await store.saveTokens(session.id, tokens, now))) {
      // Unlinked meanwhile: nobody would ever end this grant.
      await network.revoke(grant.value.refresh ?? grant.value.access, AbortSignal.timeout(RENEWAL_MS))
      return required(CHANGED)
    }
    return ok({ ...session, tokens, refreshedAt: now })
  }

  private async dead(session: SocialSession, reason: string): Promise<Result<never, UseFailure>> {
    const { store, clock, onChange, onTrouble } = this.parts
    onTrouble(`a linked account was withdrawn: ${reason}`)
    const system: Who = { kind: 'system', id: `social:${session.network}`, address: null }
    const changed = await store.markRevoked(session.id, clock.now(), this.audit(session, 'social.revoked', system))
    if (changed) onChange({ accountId: session.accountId, keyId: session.keyId, what: 'revoked' })
    return required(`@${session.user.username} withdrew the access of this API key. ${LINK_AGAIN}`)
  }

  private actor(session: SocialSession): Actor {
    return { userId: session.user.id, accessToken: accessToken(this.parts.sealing, session) }
  }

  private audit(session: SocialSession, action: string, actor: Who): AuditEntry {
    const at = this.parts.clock.now()
    const detail = { user: session.user.id, network: session.network }
    return auditEntry({ at, actor, accountId: session.accountId, keyId: session.keyId, action, detail })
  }
}

function told(problem: Failure): Result<never, UseFailure> {
  return no({ kind: 'told', failure: problem })
}

function required(message: string): Result<never, UseFailure> {
  return told(failure('social_session_required', message))
}

/** Nothing was done for the caller yet, whatever became of the renewal. */
function asFailure({ kind, reason }: GrantRefusal): NetworkFailure {
  return { kind: kind === 'about_us' ? 'about_us' : 'unavailable', reason: `renewal: ${reason}` }
}
