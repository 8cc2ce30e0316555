import type { AccountSettings, AccountSettingsStore } from '../../core/accounts/account-settings'
import type { AccountClosing } from '../../core/accounts/closing'
import type { Identity } from '../../core/accounts/identity'
import { readEmail } from '../../core/accounts/mails/email-change'
import type { EmailChanges } from '../../core/accounts/mails/email-changes'
import { invalidParameter } from '../../core/accounts/submitted'
import { auditEntry } from '../../core/audit'
import { wrongParameters } from '../../core/failure'
import {
  type Owner,
  type OwnerSessions,
  refuseRole,
  SIGNED_IN_AT_ANY_TIME,
  SIGNED_IN_JUST_NOW,
} from '../middleware/caller/owner-session'
import { readable, readBody } from '../middleware/input/validate-body'
import { routeGroup } from '../middleware/request-context'
import { Failed, taken } from '../middleware/response/failures'
import { UNDOCUMENTED } from '../openapi/documented'
import { allowed, ownPages, signedIn } from '../routing/api-access'
import { costing, EXPORT } from '../routing/cost'
import { accountExport, type ExportParts, exportResponse } from './export'
import {
  alertOf,
  type ClosedAccount,
  Closing,
  type ConfirmedEmail,
  EmailConfirmation,
  type EmailOutcome,
  NewEmail,
  SettingsChange,
  type SettingsRecord,
  settingsRecord,
} from './settings-record'

export interface SettingsParts extends ExportParts {
  readonly owners: OwnerSessions
  readonly identity: Identity
  readonly settings: AccountSettingsStore
  readonly emailChanges: EmailChanges
  readonly closing: AccountClosing
  /** Whether browsers allow passkeys at the gateway's address. */
  readonly passkeysOffered: boolean
}

/** The owner's settings, for the Settings page and the pages that emails link to. */
export function settingsRoutes(parts: SettingsParts) {
  const { owners, identity, settings, emailChanges, closing, now } = parts
  const current = async (owner: Owner): Promise<SettingsRecord> => {
    const second = { ...(await identity.secondFactors(owner.actor.id)), passkeysOffered: parts.passkeysOffered }
    const required = owners.requiresSecondFactor(owner.account)
    const hasPassword = (await identity.passwordMark(owner.actor.id)) !== null
    const more = { hasPassword, sendsMail: emailChanges.confirms }
    return settingsRecord(owner, await settings.of(owner.accountId), { ...second, required }, more)
  }
  return routeGroup({ name: 'settings', prefix: '/api/settings' })
    .get('', ...allowed(signedIn(owners, 'member'), UNDOCUMENTED, ({ owner }) => current(owner)))
    .patch(
      '',
      ...allowed(signedIn(owners, 'member'), UNDOCUMENTED, async ({ owner, context }) => {
        const change = await readBody(SettingsChange, context)
        const name = change.name?.trim()
        const isRenamed = name !== undefined && name !== owner.name
        if (isRenamed) await identity.rename(owner.actor.id, name)
        const before = await settings.of(owner.accountId)
        const { timezone, saved_views: views, alerts } = change
        if (timezone !== undefined || alerts) refuseRole(owner.member.role, 'settings:write')
        const changes = {
          ...(timezone !== undefined && { timezone }),
          ...(views && { savedViews: views.map((view) => ({ ...view, name: view.name.trim() })) }),
          ...(alerts && { alerts: alerts.map((one, at) => alertOf(one) ?? refuseAlert(at)) }),
        }
        const changed = [...(isRenamed ? ['name'] : []), ...changedSettings(changes, before)]
        // A form sends all of its fields: what stays as it is, is no change.
        if (changed.length > 0)
          await settings.change(owner.accountId, changes, settingsAudit(owner, now(), { changed, timezone, before }))
        // Read again: its name may be another one now.
        return current(await owners.owner(context, 'member'))
      }),
    )
    .post(
      '/email',
      ...allowed(
        signedIn(owners, 'member', SIGNED_IN_JUST_NOW),
        UNDOCUMENTED,
        async ({ owner, context }): Promise<EmailOutcome> => {
          const { email } = await readBody(NewEmail, context)
          return { outcome: taken(await emailChanges.ask(owner, readable(readEmail(email)))) }
        },
      ),
    )
    .post(
      '/email/confirm',
      ...allowed(ownPages(owners), UNDOCUMENTED, async ({ actor, context }): Promise<ConfirmedEmail> => {
        const { token } = await readBody(EmailConfirmation, context)
        return { email: taken(await emailChanges.confirm(token, actor)) }
      }),
    )
    .get(
      '/export',
      ...allowed(
        signedIn(owners, 'workspace:own', SIGNED_IN_AT_ANY_TIME),
        costing(EXPORT, UNDOCUMENTED),
        ({ owner, context }) => exportResponse(accountExport(parts, owner, context)),
      ),
    )
    .post(
      '/close',
      ...allowed(
        signedIn(owners, 'workspace:own', SIGNED_IN_JUST_NOW),
        UNDOCUMENTED,
        async ({ owner, context }): Promise<ClosedAccount> => {
          const { email } = await readBody(Closing, context)
          return { forfeited_micros_usd: taken(await closing.close(owner, email)) }
        },
      ),
    )
}

function refuseAlert(at: number): never {
  const rule = 'must have usd for spend_day and balance, percent for failures_hour, and no key for balance'
  throw new Failed(wrongParameters([invalidParameter(`alerts.${at}`, rule, '')]))
}

/** The names on the wire of the settings that differ from those before. */
function changedSettings(changes: Partial<AccountSettings>, before: AccountSettings): string[] {
  const { timezone, savedViews, alerts } = changes
  return [
    ...(timezone !== undefined && timezone !== before.timezone ? ['timezone'] : []),
    ...(savedViews && !Bun.deepEquals(savedViews, before.savedViews) ? ['saved_views'] : []),
    ...(alerts && !Bun.deepEquals(alerts, before.alerts) ? ['alerts'] : []),
  ]
}

/** Neither the owner's name nor saved views are in it: the audit log outlives a closed account. */
function settingsAudit(
  { actor, accountId }: Owner,
  at: number,
  {
    changed,
    timezone,
    before,
  }: {
    readonly changed: readonly string[]
    readonly timezone: string | null | undefined
    readonly before: AccountSettings
  },
) {
  const isTimezone = changed.includes('timezone')
  return auditEntry({
    at,
    actor,
    accountId,
    action: 'account.settings',
    detail: { changed, ...(isTimezone && { timezone }) },
    before: isTimezone ? { timezone: before.timezone } : null,
  })
}
