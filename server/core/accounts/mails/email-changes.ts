import { type Actor, type AuditTrail, auditEntry } from '../../audit'
import type { Clock } from '../../clock'
import { type Failure, failure, wrongParameters } from '../../failure'
import type { AccountId } from '../../ids'
import type { Mail, Mailer } from '../../mail/mailer'
import { err, ok, type Result, reasonOf } from '../../result'
import type { EmailChange, IdentitySettings } from '../identity'
import type { KeyOwner } from '../keys'
import { invalidParameter } from '../submitted'
import { EmailChangeTokens, type MailedChange } from './email-change'
import { confirmEmailMail, emailChangedMail } from './owner-mails'

const LINK_EXPIRED = 'This link has expired or was already used. Request a new one in Settings.'

interface Parts {
  readonly identity: IdentitySettings
  /** The account of a user. */
  readonly accountIdOf: (userId: string) => Promise<AccountId | null>
  readonly audit: AuditTrail
  readonly mailer: Mailer | null
  /** For mails to an address that need not be the owner's. Null without mail. */
  readonly linkMailer: Mailer | null
  readonly secret: string
  readonly baseUrl: string
  readonly clock: Clock
  /** The owner of a new account proved that the address is theirs. False: the database could not write it. */
  readonly onSignUpConfirmed: (userId: string) => Promise<boolean>
  readonly onMailFailure: (reason: string) => void
}

/**
 * Changes the email address that an owner signs in with. With mail configured, the owner confirms the new address by a link sent
 * to it, and the old address is notified. Without mail it cannot be confirmed, so the change takes effect at once.
 */
export class EmailChanges {
  private readonly parts: Parts
  private readonly tokens: EmailChangeTokens

  constructor(parts: Parts) {
    this.parts = parts
    this.tokens = new EmailChangeTokens(parts.secret, parts.clock)
  }

  /** Whether a new address must be confirmed. */
  get confirms(): boolean {
    return this.parts.linkMailer !== null
  }

  /**
   * Asks to change the address to `to`, as `readEmail` reads it. With mail, the response is the same whether or not the address
   * is taken, so that it does not reveal who has an account.
   */
  async ask(owner: KeyOwner & { readonly email: string }, to: string): Promise<Result<'sent' | 'changed', Failure>> {
    if (to === owner.email)
      return err(wrongParameters([invalidParameter('email', 'is already your email address', to)]))
    const change = { userId: owner.actor.id, from: owner.email, to }
    const { linkMailer, baseUrl, identity } = this.parts
    if (linkMailer) {
      const password = await identity.passwordMark(change.userId)
      const link = `${baseUrl}/confirm-email#token=${this.tokens.make({ ...change, password })}`
      this.mail(linkMailer, confirmEmailMail(to, link))
      return ok('sent')
    }
    const changed = await this.change({ ...change, confirmed: false }, owner.actor)
    return changed.ok ? ok('changed') : changed
  }

  /** Makes the change that a token confirms and returns the new address. */
  async confirm(token: string, actor: Pick<Actor, 'address'>): Promise<Result<string, Failure>> {
    const change = this.tokens.read(token)
    if (!change) return err(failure('invalid_state', LINK_EXPIRED))
    const by = { kind: 'owner', id: change.userId, address: actor.address } as const
    if (change.from === change.to) return this.confirmSignUp(change, by)
    // A new password invalidates links that an intruder requested.
    if (change.password !== (await this.parts.identity.passwordMark(change.userId)))
      return err(failure('invalid_state', LINK_EXPIRED))
    const changed = await this.change({ ...change, confirmed: true }, by)
    if (!changed.ok) return changed
    if (this.parts.mailer) this.mail(this.parts.mailer, emailChangedMail(change.from, change.to))
    return ok(change.to)
  }

  /** Safe to repeat: the link works until it expires or the address changes. */
  private async confirmSignUp({ userId, to }: MailedChange, actor: Actor): Promise<Result<string, Failure>> {
    const { identity, accountIdOf, audit, clock, onSignUpConfirmed } = this.parts
    if (!(await identity.confirmEmail(userId, to))) return err(failure('invalid_state', LINK_EXPIRED))
    if (!(await onSignUpConfirmed(userId)))
      return err(
        failure('service_unavailable', 'Your address could not be confirmed. Try again.', { retryAfterSeconds: 1 }),
      )
    const accountId = await accountIdOf(userId)
    await audit.write(auditEntry({ at: clock.now(), actor, accountId, action: 'account.email_confirmed' }))
    return ok(to)
  }

  private async change(change: EmailChange, actor: Actor): Promise<Result<void, Failure>> {
    const { identity, accountIdOf, audit, clock } = this.parts
    const outcome = await identity.changeEmail(change)
    if (outcome === 'taken')
      return err(failure('invalid_state', 'Another account already uses this email address. Choose a different one.'))
    if (outcome === 'stale') return err(failure('invalid_state', LINK_EXPIRED))
    const at = clock.now()
    const accountId = await accountIdOf(change.userId)
    await audit.write(
      auditEntry({
        at,
        actor,
        accountId,
        action: 'account.email',
        detail: { email: change.to },
        before: { email: change.from },
      }),
    )
    return ok(undefined)
  }

  /** Does not wait for the mail: its delay would reveal whether an address is known. */
  private mail(mailer: Mailer, mail: Mail): void {
    mailer.send(mail).catch((error: unknown) => this.parts.onMailFailure(reasonOf(error)))
  }
}
