import { type AuditAction, type Actor as AuditActor, type AuditEntry, auditEntry } from '../audit'
import { type Clock, DAY_MS, MINUTE_MS } from '../clock'
import { type Failure, failure } from '../failure'
import type { PoolId, SocialSessionId } from '../ids'
import { err, ok, type Result } from '../result'
import { type Sealing, Unsealable } from '../sealing'
import type { OnSocialChange, OnSocialFailing, SocialFailing } from './changes'
import type { ActingAccount, GrantRefusal, NetworkFailure, SocialNetwork } from './network'
import { SCOPE_MEANINGS, type SocialScope } from './scopes'
import { accessToken, grantToken, refreshToken, sealedTokens } from './sealed-tokens'
import { type SocialSession, sessionState } from './session'
import type { SocialStore } from './store'

/** A failure of the network, or one that the gateway decides before it asks the network (`own`). */
export type UseFailure = NetworkFailure | { readonly kind: 'own'; readonly failure: Failure }

export interface LinkedAccountsParts {
  readonly store: SocialStore
  readonly network: SocialNetwork
  readonly sealing: Sealing
  readonly clock: Clock
  readonly onChange: OnSocialChange
  readonly onFailing: OnSocialFailing
  readonly onTrouble: (reason: string) => void
}

/** An access token is renewed when less than this is left of it. */
const RENEW_BEFORE_MS = 5 * MINUTE_MS
/** A renewal outlives the call that started it: other calls wait for it, and its tokens must be saved. */
const RENEWAL_MS = 12_000

/** Renewing invalidates the previous token, so it is not done more often than necessary. */
const IDLE_MS = 7 * DAY_MS
const IDLE_BATCH_SIZE = 100

const LINK_AGAIN = 'Call POST /apis/v1/social/auth_social and let the user approve.'
const CHANGED = `The linked account has changed in the meantime. ${LINK_AGAIN}`

/**
 * Lets keys act with their linked accounts (spec 2.3). The scope is checked before the network is called. Tokens are renewed
 * automatically, once at a time per session, and new tokens are durable before they are used. When the network says that a grant
 * is dead, the session stays `revoked` until the account is linked again.
 */
export class LinkedAccounts {
  private readonly parts: LinkedAccountsParts
  private readonly renewals = new Map<SocialSessionId, Promise<Result<SocialSession, UseFailure>>>()

  constructor(parts: LinkedAccountsParts) {
    this.parts = parts
  }

  /** Acts with the pool's account. `act` runs a second time if the network refuses the first token without doing anything. */
  async use<T>(
    key: { readonly poolId: PoolId },
    scope: SocialScope,
    act: (actor: ActingAccount, session: SocialSession) => Promise<Result<T, NetworkFailure>>,
  ): Promise<Result<T, UseFailure>> {
    try {
      return await this.useUnsealed(key.poolId, scope, act)
    } catch (error) {
      if (!(error instanceof Unsealable)) throw error
      this.parts.onTrouble(error.message)
      const session = await this.parts.store.session(key.poolId)
      if (session) this.failing(session, 'unreadable')
      return required(`The stored link of this API key can no longer be decrypted. ${LINK_AGAIN}`)
    }
  }

  private async useUnsealed<T>(
    pool: PoolId,
    scope: SocialScope,
    act: (actor: ActingAccount, session: SocialSession) => Promise<Result<T, NetworkFailure>>,
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
    return err({
      kind: 'about_us',
      reason: `the network refused a token that was just renewed: ${second.error.reason}`,
    })
  }

  /**
   * Renews accounts that were not used for a week, one at a time. An unused refresh token expires after some months, and this
   * also detects withdrawn grants. Returns how many accounts it checked. An account that cannot be renewed now is tried again
   * next time.
   */
  async renewIdle(signal: AbortSignal): Promise<number> {
    const { store, network, clock, onTrouble } = this.parts
    const now = clock.now()
    const idle = await store.idleSessions({
      network: network.name,
      idleSince: now - IDLE_MS,
      now,
      limit: IDLE_BATCH_SIZE,
    })
    let checked = 0
    for (const session of idle) {
      if (signal.aborted) break
      checked++
      try {
        const renewed = await this.renewed(session)
        if (!renewed.ok && renewed.error.kind !== 'own') onTrouble(`idle account: ${renewed.error.reason}`)
      } catch (error) {
        if (!(error instanceof Unsealable)) throw error
        onTrouble(error.message)
      }
    }
    return checked
  }

  /** Removes the account here and then tries to revoke the grant at the network. Returns false when there is none. */
  async unlink(session: SocialSession, actor: AuditActor, signal: AbortSignal): Promise<boolean> {
    const { store, network, sealing, onChange, onTrouble } = this.parts
    const removed = await store.removeSession(session.id, this.audit(session, 'social.unlink', actor))
    if (!removed) return false
    onChange({ accountId: session.accountId, keyId: session.keyId, what: 'unlinked' })
    if (session.revokedAt !== null || session.network !== network.name) return true
    try {
      if (!(await network.revoke(grantToken(sealing, session), signal)))
        onTrouble('the network did not revoke the access to an unlinked account')
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
    if (state === 'expired') {
      this.failing(session, 'expired')
      return required(`The link of ${who} to this API key has expired. ${LINK_AGAIN}`)
    }
    if (session.scopes.includes(scope)) return ok(session)
    if (session.missingScope !== scope) {
      await store.noteMissingScope(session.id, scope)
      onChange({ accountId: session.accountId, keyId: session.keyId, what: 'scope_missing' })
    }
    this.failing(session, 'missing_scope', scope)
    return ownFailure(
      failure(
        'insufficient_scope',
        `${who} did not grant the scope ${scope} (${SCOPE_MEANINGS[scope].toLowerCase()}). Call POST /apis/v1/social/auth_social with "${scope}" among its scopes, or without scopes for all of them, and let the user approve again.`,
        { param: scope },
      ),
    )
  }

  private failing(
    { accountId, keyId, id, user }: SocialSession,
    reason: SocialFailing['reason'],
    scope: SocialScope | null = null,
  ): void {
    this.parts.onFailing({ accountId, keyId, session: id, user: user.username, reason, scope })
  }

  private async fresh(session: SocialSession): Promise<Result<SocialSession, UseFailure>> {
    const now = this.parts.clock.now()
    const { refresh, accessExpiresAt } = session.tokens
    if (refresh === null || accessExpiresAt - now > RENEW_BEFORE_MS) return ok(session)
    const renewed = await this.renewed(session)
    // If the renewal could not be done, keep using the old token while it is valid.
    if (!renewed.ok && renewed.error.kind !== 'own' && accessExpiresAt > now) return ok(session)
    return renewed
  }

  /** Runs one renewal of a session at a time. Calls that arrive while it runs share its result. */
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
    // Another renewal finished after the caller read the session.
    if (session.tokens.access !== seen.tokens.access) return ok(session)
    const token = refreshToken(sealing, session)
    if (token === null) return this.dead(session, 'its token was refused, and it has no refresh token')
    const grant = await network.refresh(token, AbortSignal.timeout(RENEWAL_MS))
    if (!grant.ok)
      return grant.error.kind === 'dead' ? this.dead(session, grant.error.reason) : err(asFailure(grant.error))
    const now = clock.now()
    const tokens = sealedTokens(sealing, session.id, grant.value, now, token)
    if (!(await store.saveTokens(session.id, tokens, now))) {
      // The account was unlinked in the meantime, so nothing else would ever revoke this grant.
      await network.revoke(grant.value.refresh ?? grant.value.access, AbortSignal.timeout(RENEWAL_MS))
      return required(CHANGED)
    }
    return ok({ ...session, tokens, refreshedAt: now })
  }

  private async dead(session: SocialSession, reason: string): Promise<Result<never, UseFailure>> {
    const { store, clock, onChange, onTrouble } = this.parts
    onTrouble(`a linked account was withdrawn: ${reason}`)
    const system: AuditActor = { kind: 'system', id: `social:${session.network}`, address: null }
    const changed = await store.markRevoked(session.id, clock.now(), this.audit(session, 'social.revoked', system))
    if (changed) onChange({ accountId: session.accountId, keyId: session.keyId, what: 'revoked' })
    return required(`@${session.user.username} withdrew the access of this API key. ${LINK_AGAIN}`)
  }

  private actor(session: SocialSession): ActingAccount {
    return { userId: session.user.id, accessToken: accessToken(this.parts.sealing, session) }
  }

  private audit(session: SocialSession, action: AuditAction, actor: AuditActor): AuditEntry {
    const at = this.parts.clock.now()
    const detail = { user: session.user.id, network: session.network }
    return auditEntry({ at, actor, accountId: session.accountId, keyId: session.keyId, action, detail })
  }
}

function ownFailure(problem: Failure): Result<never, UseFailure> {
  return err({ kind: 'own', failure: problem })
}

function required(message: string): Result<never, UseFailure> {
  return ownFailure(failure('social_session_required', message))
}

/** The action was not sent yet, whatever the outcome of the renewal. */
function asFailure({ kind, reason }: GrantRefusal): NetworkFailure {
  return { kind: kind === 'about_us' ? 'about_us' : 'unavailable', reason: `renewal: ${reason}` }
}
