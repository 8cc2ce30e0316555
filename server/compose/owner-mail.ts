import type { SignUpConfirmation } from '../adapters/identity/identity-options'
import { openAttemptWindows } from '../adapters/identity/sign-in/attempt-windows'
import { offersPasskeys } from '../adapters/identity/sign-in/second-factors'
import type { SignInEvents } from '../adapters/identity/sign-in/sign-in-guard'
import type { Config } from '../config'
import type { AccountSettingsStore } from '../core/accounts/account-settings'
import type { AppGrants, AppsEnd } from '../core/accounts/app-grants'
import { AccountClosing, type DepartingOwner } from '../core/accounts/closing'
import type { Identity } from '../core/accounts/identity'
import { EmailChangeTokens } from '../core/accounts/mails/email-change'
import { EmailChanges } from '../core/accounts/mails/email-changes'
import {
  confirmSignUpMail,
  guessingMail,
  newBrowserMail,
  plainUserAgent,
  resetLink,
  resetMail,
  type SecurityChange,
  securityMail,
  takenSignUpMail,
} from '../core/accounts/mails/owner-mails'
import { MemberKeys } from '../core/accounts/member-keys'
import type { MemberStore } from '../core/accounts/members'
import type { PoolBudgets } from '../core/accounts/pool-budgets'
import type { SignUp } from '../core/accounts/sign-up'
import type { Operator } from '../core/accounts/staff/operator'
import type { AccountStore } from '../core/accounts/store'
import { Workspaces } from '../core/accounts/workspaces'
import { type Actor, type AuditAction, type AuditTrail, auditEntry } from '../core/audit'
import type { Clock } from '../core/clock'
import { keysAmong } from '../core/credentials/key-lists'
import type { CredentialStore } from '../core/credentials/store'
import type { EventPublisher } from '../core/events/live-events'
import type { AccountId } from '../core/ids'
import { MAIL_FAILED, type Mail, type Mailer } from '../core/mail/mailer'
import { reasonOf } from '../core/result'
import type { WebhookStore } from '../core/webhooks/webhook'
import type { Social } from '../http/social/record'
import type { Log } from '../log'
import type { eventWriter } from './webhooks'

/** The account of a user; null without one. */
type AccountIdOf = (userId: string) => Promise<AccountId | null>

/** The time limit of the network for unlinking one account. */
const UNLINK_MS = 5_000

/** Links that an address is sent within an hour. */
const LINKS_PER_HOUR = 10

/**
 * For mails that anybody can have sent to any address: sign-ups, resets, new addresses. Beyond the brake the address has links
 * that still work, and gets no more.
 */
function brakedMailer(mailer: Mailer, max: number, clock: Clock, log: Log): Mailer {
  const windows = openAttemptWindows(clock)
  return {
    async send(mail) {
      const { allowed } = windows.take(mail.to.toLowerCase(), { window: 3600, max })
      if (allowed) await mailer.send(mail)
      else log.warn('a mail with a link was not sent: its address got enough of them within an hour')
    },
  }
}

/** The mailers, or null without mail settings. `linkMailer` is for mails that strangers can cause. */
export function openMailers(
  config: Pick<Config, 'mail'>,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
) {
  const mailer = openMailer(config)
  return { mailer, linkMailer: mailer && brakedMailer(mailer, LINKS_PER_HOUR, clock, log) }
}

/** Its library is loaded with the first message. */
function openMailer({ mail }: Pick<Config, 'mail'>): Mailer | null {
  return (
    mail && {
      async send(message) {
        const { openSmtpMailer } = await import('../adapters/mail/smtp-mailer')
        await openSmtpMailer(mail).send(message)
      },
    }
  )
}

/** The dependencies of the Settings page. */
export function ownerSettings(
  parts: Omit<ConstructorParameters<typeof AccountClosing>[0], 'settings' | 'staff' | 'onClosing' | 'forgetEvents'> & {
    appGrants: AppGrants
    events: EventPublisher
    poolBudgets: PoolBudgets
    accounts: AccountStore
    members: MemberStore
    social: Social | null
    stores: {
      readonly settings: AccountSettingsStore
      readonly audit: AuditTrail
      readonly webhooks: Pick<WebhookStore, 'forget'>
    }
    identity: Identity
    config: Config
    operator: Operator
    mailer: Mailer | null
    linkMailer: Mailer | null
    signUp: SignUp
    accountIdOf: AccountIdOf
    log: Log
  },
) {
  const { stores, identity, config, clock, mailer, linkMailer, log, signUp } = parts
  const { settings, audit } = stores
  const memberKeys = new MemberKeys(parts)
  const failed = (error: unknown) => log.error(MAIL_FAILED, { reason: reasonOf(error) })
  // Not awaited: the mail server may be slow.
  const tellOwner = (mail: Mail) => void mailer?.send(mail).catch(failed)
  return {
    settings,
    audit,
    sendsMail: mailer !== null,
    passkeysOffered: offersPasskeys(config.baseUrl),
    signInProviders: config.signInProviders,
    mailer,
    tellOwner,
    mailInvitation: linkMailer && ((mail: Mail) => void linkMailer.send(mail).catch(failed)),
    workspaces: new Workspaces({ ...parts, audit, memberKeys }),
    memberKeys,
    tellSecurity: (email: string, change: SecurityChange) => tellOwner(securityMail(email, change)),
    closing: new AccountClosing({
      ...parts,
      settings,
      staff: parts.operator,
      onClosing: onClosing(parts),
      forgetEvents: (account) => stores.webhooks.forget(account),
    }),
    signUp,
    emailChanges: new EmailChanges({
      onSignUpConfirmed: (userId) => signUp.confirm(userId),
      identity,
      accountIdOf: parts.accountIdOf,
      audit,
      mailer,
      linkMailer,
      clock,
      secret: config.secretKey,
      baseUrl: config.baseUrl,
      onMailFailure: (reason) => log.error(MAIL_FAILED, { reason }),
    }),
  }
}

/** When an account closes: disconnects its apps and unlinks its social accounts, which revokes the grants at the network. */
function onClosing(parts: {
  appGrants: AppGrants
  social: Social | null
  credentials: CredentialStore
  stores: { readonly webhooks: Pick<WebhookStore, 'forget'> }
}) {
  const { appGrants, social, credentials, stores } = parts
  return [
    (owner: DepartingOwner) => stores.webhooks.forget(owner.accountId),
    (owner: DepartingOwner) => appGrants.disconnect(owner.account.userId, 'all', owner.actor),
    (owner: DepartingOwner) => appGrants.disconnectAll(owner.accountId, null, owner.actor),
    async (owner: DepartingOwner) => {
      if (!social) return
      for await (const { poolId } of keysAmong(credentials.lists, owner.accountId, 'all', 0)) {
        const session = await social.store.session(poolId)
        if (session) await social.accounts.unlink(session, owner.actor, AbortSignal.timeout(UNLINK_MS))
        await social.approvals.withdraw(poolId, AbortSignal.timeout(UNLINK_MS))
      }
    },
  ]
}

/** With mail, a sign-up counts once its address is confirmed. Null without mail. */
export function signUpConfirmation(parts: {
  mailer: Mailer | null
  config: Config
  signUp: SignUp
  clock: Clock
}): SignUpConfirmation | null {
  const { mailer, config, signUp, clock } = parts
  if (!mailer) return null
  const tokens = new EmailChangeTokens(config.secretKey, clock)
  return {
    mayEnter: (userId) => signUp.mayEnter(userId),
    send: ({ id, email }) => {
      const token = tokens.make({ userId: id, from: email, to: email })
      return mailer.send(confirmSignUpMail(email, `${config.baseUrl}/confirm-email#token=${token}`))
    },
    onTaken: ({ email }, token) => mailer.send(takenSignUpMail(email, resetLink(config.baseUrl, token))),
  }
}

/** Notifies owners of sign-ins: by mail where it is configured, and in the audit log. */
export function signInEvents(parts: {
  mailer: Mailer | null
  accountIdOf: AccountIdOf
  audit: AuditTrail
  signUp: SignUp
  clock: Clock
  writeEvent: ReturnType<typeof eventWriter>
  onMailFailure: (reason: string) => void
}): SignInEvents {
  const { mailer, accountIdOf, audit, signUp, clock, writeEvent, onMailFailure } = parts
  const note = async (userId: string, actor: Actor, action: AuditAction) => {
    const accountId = await accountIdOf(userId)
    const entry = auditEntry({ at: clock.now(), actor, accountId, action })
    await audit.write(entry)
    return entry
  }
  const failed = (error: unknown) => onMailFailure(reasonOf(error))
  return {
    async onGuessing({ id, email }, address) {
      await note(id, { kind: 'system', id: 'sign-in', address }, 'account.sign_in_failures')
      await mailer?.send(guessingMail(email, address))
    },
    async onSecondFactorLocked({ id, email }, address) {
      await note(id, { kind: 'system', id: 'sign-in', address }, 'account.second_factor_locked')
      void mailer?.send(securityMail(email, 'second_factor_locked')).catch(failed)
    },
    async onRecoveryCode({ id, email }, address) {
      await note(id, { kind: 'owner', id, address }, 'account.recovery_code_used')
      void mailer?.send(securityMail(email, 'recovery_code_used')).catch(failed)
    },
    async onIdentityLinked({ id, email }, address) {
      await note(id, { kind: 'owner', id, address }, 'account.identity_linked')
      void mailer?.send(securityMail(email, 'identity_linked')).catch(failed)
    },
    async onNewBrowser({ user: { id, email }, address, userAgent }) {
      const entry = await note(id, { kind: 'owner', id, address }, 'account.new_browser')
      // A user who just confirmed the address signs in for the first time: nothing is strange about it.
      if (signUp.isFirstSignIn(id)) return
      const browser = plainUserAgent(userAgent)
      writeEvent('sign_in.new_device', entry.id, { ip: address, user_agent: browser }, entry.accountId)
      // Not awaited: the mail server may be slow.
      void mailer?.send(newBrowserMail(email, { address, userAgent: browser, at: entry.at })).catch(failed)
    },
  }
}

/** A password reset: the mail with the link, then disconnecting all apps and an audit entry. */
export function passwordResets(parts: {
  mailer: Mailer | null
  baseUrl: string
  accountIdOf: AccountIdOf
  signUp: SignUp
  audit: AuditTrail
  clock: Clock
  /** Disconnects the user's apps. */
  disconnectApps: (userId: string, address: string | null, because: AppsEnd) => Promise<unknown>
}) {
  const { mailer, baseUrl, accountIdOf, signUp, audit, clock, disconnectApps } = parts
  return {
    onResetRequest: async (user: { email: string }, token: string) =>
      mailer?.send(resetMail(user.email, resetLink(baseUrl, token))),
    onPasswordReset: async (user: { id: string }, { address }: { address: string | null }) => {
      // The link proved that the address is theirs.
      if (mailer) await signUp.confirm(user.id)
      await disconnectApps(user.id, address, 'new_password')
      const actor = { kind: 'owner', id: user.id, address } as const
      const accountId = await accountIdOf(user.id)
      await audit.write(auditEntry({ at: clock.now(), actor, accountId, action: 'account.password_reset' }))
    },
  }
}
