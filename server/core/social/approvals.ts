import { type Actor, type AuditEntry, auditEntry } from '../audit'
import type { Clock } from '../clock'
import type { AccountId, KeyId, PoolId, SocialLinkId } from '../ids'
import { type Sealing, Unsealable } from '../sealing'
import type { OnSocialChange } from './changes'
import type { SocialNetwork } from './network'
import { grantToken } from './sealed-tokens'
import type { SocialApproval, SocialSession } from './session'
import { hashState, looksLikeState, newProof } from './state-token'
import type { SocialStore } from './store'

/** Whose key asks for an account, in words for the person who is asked. Never an e-mail address. */
export interface Asker {
  readonly account: string
  readonly key: string
}

export interface ApprovalParts {
  readonly store: SocialStore
  readonly network: SocialNetwork
  readonly sealing: Sealing
  readonly clock: Clock
  /** Null when the key could not call any more: it gets no account. */
  readonly asker: (account: AccountId, key: KeyId) => Promise<Asker | null>
  readonly onChange: OnSocialChange
  /** Told without secrets. */
  readonly onTrouble: (reason: string) => void
}

/** Ten minutes to press the button. */
export const CONFIRM_MS = 10 * 60 * 1000
/** A network that takes no revocation is asked again for so long. */
const GIVE_UP_MS = 24 * 60 * 60 * 1000
const AT_ONCE = 100

export type Confirmed =
  | { readonly kind: 'linked'; readonly session: SocialSession }
  | { readonly kind: 'not_confirmed' | 'key_gone' }

/**
 * What was approved at the network is kept sealed, and no call can use it, until the person whose browser came back says here
 * that the app may: approving the address of a stranger gives that stranger nothing. What nobody confirms in ten minutes is
 * revoked at the network.
 */
export class Approvals {
  private readonly parts: ApprovalParts

  constructor(parts: ApprovalParts) {
    this.parts = parts
  }

  /** Keeps the session to be. Gives what the browser must show again to confirm it. */
  async keep(session: SocialSession, link: SocialLinkId): Promise<string> {
    const { proof, proofHash } = newProof()
    const expiresAt = this.parts.clock.now() + CONFIRM_MS
    await this.parts.store.addApproval({ session, linkId: link, proofHash, expiresAt, confirmedAt: null })
    return proof
  }

  /** Links the account, once, for the browser that shows the proof. */
  async confirm(link: string, proof: string, signal: AbortSignal): Promise<Confirmed> {
    const { store, clock, asker, onChange } = this.parts
    if (!looksLikeState(proof)) return { kind: 'not_confirmed' }
    const now = clock.now()
    // Any text is taken: a link that does not exist has no approval.
    const approval = await store.confirmApproval(link as SocialLinkId, hashState(proof), now)
    if (!approval) return { kind: 'not_confirmed' }
    const session = { ...approval.session, linkedAt: now }
    if (!(await asker(session.accountId, session.keyId))) {
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

  /** Revokes what nobody confirmed in time; also what a process before this one left. Gives how many it ended. */
  async revokeOverdue(signal: AbortSignal): Promise<number> {
    const overdue = await this.parts.store.overdueApprovals(this.parts.clock.now(), AT_ONCE)
    let ended = 0
    for (const approval of overdue) {
      if (signal.aborted) break
      if (await this.drop(approval, signal)) ended++
    }
    return ended
  }

  /** The owner gives up waiting, or unlinks the key: what was approved for it meanwhile goes too. */
  async withdraw(pool: PoolId, signal: AbortSignal): Promise<void> {
    for (const approval of await this.parts.store.takeApprovals(pool)) {
      await this.end(approval, 'cancelled')
      await this.revokeUnlessLinked(approval.session, signal)
    }
  }

  /** False when the network did not take it and is to be asked again. */
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

  /** Of the account that the key has already, the network may have put the new grant in the place of the old one: it stays. */
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
      onTrouble('the network did not take the revocation of an account that is not linked')
      return false
    } catch (error) {
      if (!(error instanceof Unsealable)) throw error
      onTrouble(error.message)
      return true
    }
  }

  private audit(session: SocialSession, action: string, detail: Record<string, unknown>): AuditEntry {
    const at = this.parts.clock.now()
    const actor: Actor = { kind: 'system', id: `social:${session.network}`, address: null }
    return auditEntry({ at, actor, accountId: session.accountId, keyId: session.keyId, action, detail })
  }
}
