import { type Actor, type AuditAction, type AuditEntry, auditEntry } from '../audit'
import type { Clock } from '../clock'
import { type AccountId, type KeyId, makeId, type PoolId, type SocialLinkId } from '../ids'
import { err, ok, type Result } from '../result'
import type { Sealing } from '../sealing'
import type { ApprovalParts, Approvals, LinkRequester } from './approvals'
import type { OnSocialChange } from './changes'
import type { Grant, SocialNetwork } from './network'
import { grantedScopes, OFFLINE_ACCESS, type SocialScope, withRequiredScopes } from './scopes'
import { sealedTokens, verifierContext } from './sealed-tokens'
import type { LinkAttempt, LinkOutcome, SocialSession, SocialUser } from './session'
import { hashState, LINK_LIFETIME_MS, looksLikeState, newLinkSecrets } from './state-token'
import type { SocialStore } from './store'

/** The key that an account is linked to. */
export interface LinkingKey {
  readonly id: KeyId
  readonly poolId: PoolId
  readonly accountId: AccountId
}

export interface StartedLink {
  readonly link: LinkAttempt
  /** Shown to the caller, never stored. */
  readonly state: string
  readonly authUrl: string
}

/** The parameters of a callback. */
export interface Callback {
  readonly state: string | null
  readonly code: string | null
  readonly error: string | null
}

/** The outcome of a callback. The page shows a different message for each. */
export type LinkEnd =
  | {
      /** Approved at the network, but unusable until the browser confirms it with `proof`. */
      readonly kind: 'approved'
      readonly user: SocialUser
      readonly scopes: readonly SocialScope[]
      readonly requester: LinkRequester
      readonly link: SocialLinkId
      readonly proof: string
    }
  | { readonly kind: 'wrong_state' | 'expired' | 'replayed' | 'denied' | 'failed' | 'key_gone' }

export interface LinkingParts {
  readonly store: SocialStore
  readonly network: SocialNetwork
  readonly sealing: Sealing
  readonly clock: Clock
  readonly redirectUri: string
  readonly requester: ApprovalParts['requester']
  readonly approvals: Pick<Approvals, 'keep'>
  readonly onChange: OnSocialChange
  /** Receives, without secrets, why a code was not exchanged. */
  readonly onTrouble: (reason: string) => void
}

/**
 * Links a social account to a key by OAuth 2.0 with PKCE (spec 4.3). The state is bound to the key and the scopes and is valid for
 * ten minutes. The first callback uses it up; later ones change nothing.
 */
export class Linking {
  private readonly parts: LinkingParts

  constructor(parts: LinkingParts) {
    this.parts = parts
  }

  /** Starts a link. Empty `scopes` means all of them. A key may have any number of open links. */
  async start(key: LinkingKey, scopes: readonly SocialScope[], actor: Actor): Promise<StartedLink> {
    const { store, network, sealing, clock, redirectUri, onChange } = this.parts
    const now = clock.now()
    const secrets = newLinkSecrets()
    const id = makeId('link', now)
    const link: LinkAttempt = {
      id,
      stateHash: secrets.stateHash,
      poolId: key.poolId,
      accountId: key.accountId,
      keyId: key.id,
      scopes: withRequiredScopes(scopes),
      verifier: sealing.seal(secrets.verifier, verifierContext(id)),
      createdAt: now,
      expiresAt: now + LINK_LIFETIME_MS,
      usedAt: null,
      outcome: null,
    }
    await store.addLink(link, this.audit(link, 'social.link.start', actor, { scopes: link.scopes }))
    const { state, challenge } = secrets
    const authUrl = network.authorizeUrl({ state, challenge, scopes: [...link.scopes, OFFLINE_ACCESS], redirectUri })
    onChange({ accountId: key.accountId, keyId: key.id, what: 'linking' })
    return { link, state, authUrl }
  }

  /** Handles the browser's return. Only the first callback of a state succeeds. Its account then awaits confirmation. */
  async finish(callback: Callback, signal: AbortSignal): Promise<LinkEnd> {
    const { store, clock, network, onTrouble } = this.parts
    if (callback.state === null || !looksLikeState(callback.state)) return { kind: 'wrong_state' }
    const stateHash = hashState(callback.state)
    const link = await store.burnLink(stateHash, clock.now())
    if (!link) return this.unusableState(stateHash)
    if (callback.code === null) {
      const denied = callback.error === 'access_denied'
      if (!denied) onTrouble(`the network sent neither a code nor a refusal: ${callback.error?.slice(0, 60)}`)
      return this.ended(link, denied ? 'denied' : 'failed')
    }
    const session = await this.newSession(link, callback.code, signal)
    if (!session.ok) {
      onTrouble(session.error)
      return this.ended(link, 'failed')
    }
    const { session: approved, grant } = session.value
    const requester = await this.parts.requester(link.accountId, link.keyId)
    if (!requester) {
      await network.revoke(grant.refresh ?? grant.access, signal)
      await store.endLink(link.id, 'failed')
      return { kind: 'key_gone' }
    }
    const proof = await this.parts.approvals.keep(approved, link.id)
    return { kind: 'approved', user: approved.user, scopes: approved.scopes, requester, link: link.id, proof }
  }

  /** Cancels a link. Returns false when it has ended or belongs to another account. */
  async cancel(account: AccountId, id: SocialLinkId): Promise<boolean> {
    const { store, clock } = this.parts
    const link = await store.linkById(id)
    if (link?.accountId !== account || !(await store.burnLink(link.stateHash, clock.now()))) return false
    await this.ended(link, 'cancelled')
    return true
  }

  private async unusableState(stateHash: string): Promise<LinkEnd> {
    const link = await this.parts.store.linkByState(stateHash)
    if (!link) return { kind: 'wrong_state' }
    return { kind: link.usedAt === null ? 'expired' : 'replayed' }
  }

  private async ended(link: LinkAttempt, outcome: Exclude<LinkOutcome, 'linked'>): Promise<LinkEnd> {
    await this.parts.store.endLink(link.id, outcome)
    this.parts.onChange({ accountId: link.accountId, keyId: link.keyId, what: outcome })
    return { kind: outcome === 'denied' ? 'denied' : 'failed' }
  }

  private async newSession(
    link: LinkAttempt,
    code: string,
    signal: AbortSignal,
  ): Promise<Result<{ session: SocialSession; grant: Grant }, string>> {
    const { network, sealing, clock, redirectUri } = this.parts
    const verifier = sealing.open(link.verifier, verifierContext(link.id)).text
    const grant = await network.exchange(code, verifier, redirectUri, signal)
    if (!grant.ok) return err(`the code was not exchanged: ${grant.error.reason}`)
    const user = await network.me(grant.value.access, signal)
    if (!user.ok) {
      await network.revoke(grant.value.refresh ?? grant.value.access, signal)
      return err(`the linked account could not be read: ${user.error.reason}`)
    }
    const now = clock.now()
    const id = makeId('soc', now)
    return ok({
      grant: grant.value,
      session: {
        id,
        poolId: link.poolId,
        accountId: link.accountId,
        keyId: link.keyId,
        network: network.name,
        user: user.value,
        scopes: grant.value.scope === null ? link.scopes : grantedScopes(grant.value.scope),
        tokens: sealedTokens(sealing, id, grant.value, now),
        linkedAt: now,
        refreshedAt: null,
        revokedAt: null,
        missingScope: null,
      },
    })
  }

  private audit(link: LinkAttempt, action: AuditAction, actor: Actor, detail: Record<string, unknown>): AuditEntry {
    const at = this.parts.clock.now()
    return auditEntry({ at, actor, accountId: link.accountId, keyId: link.keyId, action, detail })
  }
}
