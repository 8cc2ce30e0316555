import { type Account, closedEmail, staffRole } from '../../../core/accounts/account'
import type { AppGrantStore } from '../../../core/accounts/app-grant'
import type { AccountClosing } from '../../../core/accounts/closing'
import type { Keys } from '../../../core/accounts/keys'
import { resetLink, resetMail, suspensionMail } from '../../../core/accounts/mails/owner-mails'
import type { AccountNotes } from '../../../core/accounts/staff/account-notes'
import { invalidParameter } from '../../../core/accounts/submitted'
import { type Actor, auditEntry } from '../../../core/audit'
import { isoTime } from '../../../core/clock'
import { type Failure, failure, wrongParameters } from '../../../core/failure'
import { makeId } from '../../../core/ids'
import type { Mail, Mailer } from '../../../core/mail/mailer'
import { ZERO } from '../../../core/money'
import { err, ok } from '../../../core/result'
import { accountExport, type ExportParts } from '../../account/export'
import { type KeyRecord, keyRecord } from '../../keys/record'
import { actorEmails } from '../../middleware/caller/actor-email'
import { logMeaning } from '../../openapi/failure-meanings'
import { NOBODY_SIGNS_IN, OperatorCommands, type OperatorParts } from '../operator-commands'
import type { CommandResult } from '../operator-roles'
import type { OneOperatorAccount, SecondFactorReset } from '../record'
import { whyPaidCallsFail } from '../why-402'
import type {
  CustomerDetails,
  EndedSessions,
  ErasedAccount,
  EraseForm,
  KeyActionForm,
  NoteForm,
  PasswordReset,
  RoleForm,
  SuspendForm,
} from './customer-record'

const MAX_REFUSED = 20

/** The data that an erased account loses. */
const ERASED = [
  'email address, name, password, second factors and sessions of the owner',
  'names, notes and allowed addresses of the API keys, which are revoked',
  'connected apps, linked social accounts and webhook endpoints',
  'IP addresses and client request ids of calls, and IP addresses of the audit log',
  'the text of requests for higher limits, and notes of operators',
]
const KEPT = [
  'ledger entries, payments and price versions: the books of the business must add up and be kept by law',
  'time, operation, status and cost of calls: the record of what was charged',
  'the audit log without addresses and names: who changed what',
]
const ARCHIVED = 'calls and entries in archives, which name the account by its id alone'

export interface CustomerParts extends OperatorParts, Omit<ExportParts, 'limitRequests'> {
  readonly keys: Keys
  readonly closing: AccountClosing
  readonly notes: AccountNotes
  readonly apps: AppGrantStore
  /** Null without mail settings. */
  readonly mailer: Mailer | null
  /** Sends a mail without waiting for it. */
  readonly tellOwner: (mail: Mail) => void
}

/** The work of operators and support for one customer. Every change is audited with the actor. */
export class CustomerCommands {
  private readonly parts: CustomerParts
  private readonly orders: OperatorCommands

  constructor(parts: CustomerParts) {
    this.parts = parts
    this.orders = new OperatorCommands(parts)
  }

  async suspend(actor: Actor, account: Account, { reason }: SuspendForm): CommandResult<OneOperatorAccount> {
    const suspended = await this.parts.operator.suspend(actor, account.id, reason.trim())
    if (suspended.ok) await this.tell(suspended.value, reason.trim(), false)
    return this.described(suspended)
  }

  async lift(actor: Actor, account: Account, { reason }: SuspendForm): CommandResult<OneOperatorAccount> {
    const lifted = await this.parts.operator.lift(actor, account.id, reason.trim())
    if (lifted.ok) await this.tell(lifted.value, reason.trim(), true)
    return this.described(lifted)
  }

  async setRole(actor: Actor, account: Account, { role }: RoleForm): CommandResult<OneOperatorAccount> {
    return this.described(await this.parts.operator.setRole(actor, account.id, role))
  }

  /** Disables, enables or revokes one key, such as one that leaked. */
  async actOnKey(
    actor: Actor,
    account: Account,
    key: string,
    { action }: KeyActionForm,
  ): CommandResult<{ readonly key: KeyRecord }> {
    const reserved = await this.reservedForOperators(actor, account)
    if (reserved) return err(reserved)
    const changed = await this.parts.keys[action](await this.ownerOf(account, actor), key)
    return changed.ok ? ok({ key: await keyRecord(changed.value, { ...this.parts, now: this.parts.now() }) }) : changed
  }

  /** Signs the owner out everywhere. */
  async endSessions(actor: Actor, account: Account): CommandResult<EndedSessions> {
    const reserved = await this.reservedForOperators(actor, account)
    if (reserved) return err(reserved)
    const { identity, operator } = this.parts
    const ended = await identity.endSessions(account.userId, { all: true })
    await operator.note(actor, account.id, 'account.sessions_end', { ended })
    return ok({ ended })
  }

  /** Sends the owner a link to set a new password; without mail, returns it. Never returned where the owner gets it by mail. */
  async resetPassword(actor: Actor, account: Account): CommandResult<PasswordReset> {
    const { identity, operator, baseUrl, mailer } = this.parts
    const user = await identity.user(account.userId)
    if (user?.email === closedEmail(account.id)) return err(NOBODY_SIGNS_IN)
    const token = user && (await identity.resetToken(user.email))
    if (!user || !token) return err(wrongParameters([invalidParameter('account', 'has no password', account.id)]))
    await operator.noteResetLink(actor, account.id)
    const link = resetLink(baseUrl, token)
    if (!mailer) return ok({ mailed: false, link })
    try {
      await mailer.send(resetMail(user.email, link))
    } catch {
      return err(
        failure('service_unavailable', 'The mail server did not take the mail. Try again.', { retryAfterSeconds: 5 }),
      )
    }
    return ok({ mailed: true, link: null })
  }

  async addNote(actor: Actor, account: Account, { text }: NoteForm): CommandResult<CustomerDetails> {
    const at = this.parts.now()
    const accountId = account.id
    const note = { id: makeId('note', at), accountId, at, author: actor.id, text: text.trim() }
    await this.parts.notes.add(
      note,
      auditEntry({ at, actor, accountId, action: 'account.note', detail: { note: note.id } }),
    )
    return ok(await this.details(account))
  }

  resetSecondFactor(actor: Actor, account: Account): CommandResult<SecondFactorReset> {
    return this.orders.resetSecondFactor(actor, account)
  }

  /** Closes the account for good, by request of its owner (GDPR). Safe to repeat after a failure. */
  async erase(actor: Actor, account: Account, { confirm }: EraseForm): CommandResult<ErasedAccount> {
    const { id } = account
    if (confirm !== id)
      return err(wrongParameters([invalidParameter('confirm', `must be ${id}, the id of the account`, confirm)]))
    const owner = await this.ownerOf(account, actor)
    const forfeited = await this.parts.closing.erase(owner)
    if (!forfeited.ok) return forfeited
    const archives = await this.parts.reports.archivesOf(id)
    const archived = archives.length > 0 ? [`${ARCHIVED}: ${archives.join(', ')}`] : []
    return ok({ id, forfeited_micros_usd: forfeited.value, erased: [...ERASED], kept: [...KEPT, ...archived] })
  }

  /** All data about an account, as its owner can export it. */
  async export(actor: Actor, account: Account): Promise<ReadableStream<Uint8Array>> {
    await this.parts.operator.note(actor, account.id, 'account.export')
    return accountExport(this.parts, await this.ownerOf(account, actor))
  }

  /** Support looks after customers: it must not be able to keep an operator out. */
  private async reservedForOperators(actor: Actor, account: Account): Promise<Failure | null> {
    if (!staffRole(account) || account.userId === actor.id) return null
    const by = await this.parts.accounts.byUser(actor.id)
    return by && !by.operator
      ? failure('insufficient_permissions', 'This account has a role. Only operators can act on it.')
      : null
  }

  private async ownerOf(account: Account, actor: Actor) {
    const user = await this.parts.identity.user(account.userId)
    const toppedUp = (await this.parts.ledger.balance(account.id))?.toppedUp ?? ZERO
    const tier = { ...account, toppedUp }
    return { account, accountId: account.id, tier, actor, email: user?.email ?? '', name: user?.name ?? '' }
  }

  async details(account: Account): Promise<CustomerDetails> {
    const { ledger, identity } = this.parts
    const [balance, user, factors, notes, refused, why] = await Promise.all([
      ledger.balance(account.id),
      identity.user(account.userId),
      identity.secondFactors(account.userId),
      this.notesOf(account),
      this.lastRefused(account),
      whyPaidCallsFail(this.parts, account),
    ])
    if (!balance) throw new Error(`account ${account.id} has no counters`)
    const confirmed = user && (await identity.userByEmail(user.email))
    return {
      account: await this.orders.describe(account),
      email_confirmed: confirmed?.emailConfirmed ?? false,
      second_factor: factors.app || factors.passkeys > 0,
      balance_micros_usd: balance.posted,
      available_micros_usd: balance.available,
      held_micros_usd: balance.held,
      credit_micros_usd: balance.credit,
      paid_micros_usd: balance.paid,
      debt_micros_usd: balance.debt,
      topped_up_micros_usd: balance.toppedUp,
      why_402: [...why],
      last_402: refused,
      notes,
    }
  }

  private async notesOf({ id }: Account): Promise<CustomerDetails['notes'][number][]> {
    const { notes, identity } = this.parts
    const emailOf = actorEmails(identity)
    return Promise.all(
      (await notes.of(id)).map(async ({ id: noteId, at, author, text }) => {
        return { id: noteId, at: isoTime(at), author: await emailOf({ kind: 'operator', id: author }), text }
      }),
    )
  }

  private async lastRefused({ id }: Account): Promise<CustomerDetails['last_402'][number][]> {
    const filter = { accountId: id, keyId: null, operation: null, status: 402, model: null, from: null, to: null }
    const page = await this.parts.reports.requests(filter, MAX_REFUSED, null)
    return (page?.rows ?? []).map((call) => ({
      request_id: call.id,
      at: isoTime(call.at),
      key: call.keyId,
      operation: call.operation,
      code: call.code ?? '',
      meaning: logMeaning(call.code) ?? '',
    }))
  }

  private async tell(account: Account, reason: string, lifted: boolean): Promise<void> {
    const user = await this.parts.identity.user(account.userId)
    if (user) this.parts.tellOwner(suspensionMail(user.email, reason, lifted))
  }

  private async described(
    changed: Awaited<ReturnType<OperatorParts['operator']['suspend']>>,
  ): CommandResult<OneOperatorAccount> {
    return changed.ok ? ok({ account: await this.orders.describe(changed.value) }) : changed
  }
}
