import { type Actor, type AuditAction, type AuditEntry, auditEntry } from '../audit'
import { type Clock, DAY_MS, MINUTE_MS } from '../clock'
import type { AccountId, KeyId, PoolId, SocialLinkId } from '../ids'
import { type Sealing, Unsealable } from '../sealing'
import type { OnSocialChange } from './changes'
import type { SocialNetwork } from './network'
import { grantToken } from './sealed-tokens'
import type { SocialApproval, SocialSession } from './session'
import { hashState, looksLikeState, newProof } from './state-token'
import type { SocialStore } from './store'

/** The app or account that asks for access, as shown to the approving person. Never an email address. */
export interface LinkRequester {
  readonly account: string
  readonly key: string
}

export interface ApprovalParts {
  readonly store: SocialStore
  readonly network: SocialNetwork
  readonly sealing: Sealing
  readonly clock: Clock
  /** Null when the key can no longer call and so cannot get an account. */
  readonly requester: (account: AccountId, key: KeyId) => Promise<LinkRequester | null>
  readonly onChange: OnSocialChange
  /** Never receives secrets. */
  readonly onTrouble: (reason: string) => void
}

/** How long the person has to confirm. */
export const CONFIRM_MS = 10 * MINUTE_MS
/** How long a failed revocation is retried. */
const GIVE_UP_MS = DAY_MS
const BATCH_SIZE = 100

export type Confirmed =
  | { readonly kind: 'linked'; readonly session: SocialSession }
  | { readonly kind: 'not_confirmed' | 'key_gone' }

/**
 * Accounts that were approved at the network but not yet confirmed here. They are stored sealed, and no call can use them, until the
 * person confirms in the browser that returned from the network: approving someone else's link gives that person nothing.
 * Approvals that are not confirmed within ten minutes are revoked at the network.
 */
export class Approvals {
  private readonly parts: ApprovalParts

  constructor(parts: ApprovalParts) {
    this.parts = parts
  }

  /** Stores a session to be confirmed. Returns the proof that the browser must present to confirm it. */
  async keep(session: SocialSession, link: SocialLinkId): Promise<string> {
    const { proof, proofHash } = newProof()
    const expiresAt = this.parts.clock.now() + CONFIRM_MS
    await this.parts.store.addApproval({ session, linkId: link, proofHash, expiresAt, confirmedAt: null })
    return proof
  }

  /** Links the account, once, if the browser presents the proof. */
  async confirm(link: string, proof: string, signal: AbortSignal): Promise<Confirmed> {
    const { store, clock, requester, onChange } = this.parts
    if (!looksLikeState(proof)) return { kind: 'not_confirmed' }
    const now = clock.now()
    // Safe for any text: an unknown link has no approval.
    const approval = await store.confirmApproval(link as SocialLinkId, hashState(proof), now)
    if (!approval) return { kind: 'not_confirmed' }
    const session = { ...approval.session, linkedAt: now }
    if (!(await requester(session.accountId, session.keyId))) {
      await this.drop(approval, signal)
      return { kind: 'key_gone' }
    }
    const before = await store.session(session.poolId)
    const detail = { user: session.user.id, scopes: session.scopes, replaced: before?.user.id ?? null }
    await store.putSession(session, approval.linkId, this.audit(session, 'social.linked', detail))
    onChange({ accountId: session.accountId, keyId: session.keyId, what: 'linked' })
    if (before && before.user.id !== session.user.id && before.revokedAt === null) await this.revoke(before, signal)
    return { kind: 'linked', session }
  }

  /** Revokes approvals that were not confirmed in time, including those of a previous process. Returns the number ended. */
  async revokeOverdue(signal: AbortSignal): Promise<number> {
    const overdue = await this.parts.store.overdueApprovals(this.parts.clock.now(), BATCH_SIZE)
    let ended = 0
    for (const approval of overdue) {
      if (signal.aborted) break
      if (await this.drop(approval, signal)) ended++
    }
    return ended
  }

  /** Revokes a pool's unconfirmed approvals, when the owner cancels or unlinks. */
  async withdraw(pool: PoolId, signal: AbortSignal): Promise<void> {
    for (const approval of await this.parts.store.takeApprovals(pool)) {
      await this.end(approval, 'cancelled')
      await this.revokeUnlessLinked(approval.session, signal)
    }
  }

  /** Returns false when the revocation failed and must be retried. */
  private async drop(approval: SocialApproval, signal: AbortSignal): Promise<boolean> {
    const revoked = await this.revokeUnlessLinked(approval.session, signal)
    const givesUp = this.parts.clock.now() - approval.expiresAt > GIVE_UP_MS
    if (!revoked && !givesUp) return false
    await this.parts.store.removeApproval(approval.session.id)
    await this.end(approval, 'failed')
    return true
  }

  private async end({ linkId, session }: SocialApproval, outcome: 'failed' | 'cancelled'): Promise<void> {
    await this.parts.store.endLink(linkId, outcome)
    this.parts.onChange({ accountId: session.accountId, keyId: session.keyId, what: outcome })
  }

  /** Does not revoke when the key already has the same account: the network may have replaced its grant with the new one. */
  private async revokeUnlessLinked(session: SocialSession, signal: AbortSignal): Promise<boolean> {
    const linked = await this.parts.store.session(session.poolId)
    const isSame = linked?.network === session.network && linked.user.id === session.user.id
    return isSame && linked.revokedAt === null ? true : this.revoke(session, signal)
  }

  private async revoke(session: SocialSession, signal: AbortSignal): Promise<boolean> {
    const { network, sealing, onTrouble } = this.parts
    if (session.network !== network.name) return true
    try {
      if (await network.revoke(grantToken(sealing, session), signal)) return true
      onTrouble('the network did not revoke the access to an account that is not linked')
      return false
    } catch (error) {
      if (!(error instanceof Unsealable)) throw error
      onTrouble(error.message)
      return true
    }
  }

  private audit(session: SocialSession, action: AuditAction, detail: Record<string, unknown>): AuditEntry {
    const at = this.parts.clock.now()
    const actor: Actor = { kind: 'system', id: `social:${session.network}`, address: null }
    return auditEntry({ at, actor, accountId: session.accountId, keyId: session.keyId, action, detail })
  }
}
