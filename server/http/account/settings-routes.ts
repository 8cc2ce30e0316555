import type { AccountSettings, AccountSettingsStore } from '../../core/accounts/account-settings'
import type { AppGrants } from '../../core/accounts/app-grants'
import type { AccountClosing } from '../../core/accounts/closing'
import type { EmailChanges } from '../../core/accounts/email-changes'
import type { Identity, SessionLine } from '../../core/accounts/identity'
import { wrong } from '../../core/accounts/submitted'
import { auditEntry } from '../../core/audit'
import type { ParameterError } from '../../core/catalogue/parameters'
import { type Failure, wrongParameters } from '../../core/failure'
import { isPlainLine, PLAIN_LINE_RULE } from '../../core/plain-text'
import { no, ok, type Result } from '../../core/result'
import { isTimeZone } from '../../core/usage/calendar'
import { notFound, taken } from '../middleware/failures'
import { readJson } from '../middleware/json-body'
import { keepsApps } from '../middleware/kept-apps'
import { type Owner, type OwnerSessions, SIGNED_IN_JUST_NOW } from '../middleware/owner-session'
import { type RequestContext, routeGroup } from '../middleware/request-context'
import { UNDOCUMENTED } from '../openapi/documented'
import { accountExport, type ExportParts } from './export'

const MAX_NAME = 200

export interface SettingsParts extends ExportParts {
  readonly owners: OwnerSessions
  readonly identity: Identity
  readonly settings: AccountSettingsStore
  readonly emailChanges: EmailChanges
  readonly closing: AccountClosing
  readonly appGrants: AppGrants
}

/** What an owner sets about themselves: for the Settings page and the pages that mails lead to. */
export function settingsRoutes(parts: SettingsParts) {
  const { owners, identity, settings, emailChanges, closing, appGrants, now } = parts
  const shown = async (context: RequestContext) => {
    const { accountId, email, name } = await owners.owner(context)
    return {
      name,
      email,
      workspace_id: accountId,
      ...(await settings.of(accountId)),
      sends_mail: emailChanges.confirms,
    }
  }
  return routeGroup({ name: 'settings', prefix: '/api/settings' })
    .get('', ({ context }) => shown(context), UNDOCUMENTED)
    .patch(
      '',
      async ({ context }) => {
        const owner = await owners.owner(context)
        const change = taken(settingsIn(taken(await readJson(context))))
        if (change.name !== undefined) await identity.rename(owner.actor.id, change.name)
        const at = now()
        await settings.set(
          owner.accountId,
          { timezone: change.timezone === undefined ? (await settings.of(owner.accountId)).timezone : change.timezone },
          changed(owner, at, change),
        )
        return shown(context)
      },
      { parse: 'none', ...UNDOCUMENTED },
    )
    .post(
      '/email',
      async ({ context }) => {
        const owner = await owners.owner(context, SIGNED_IN_JUST_NOW)
        return { outcome: taken(await emailChanges.ask(owner, taken(await readJson(context)))) }
      },
      { parse: 'none', ...UNDOCUMENTED },
    )
    .post(
      '/email/confirm',
      async ({ context }) => {
        const actor = owners.stranger(context)
        return { email: taken(await emailChanges.confirm(taken(await readJson(context)), actor)) }
      },
      { parse: 'none', ...UNDOCUMENTED },
    )
    .get(
      '/sessions',
      async ({ context }) => {
        const { actor, sessionId } = await owners.owner(context)
        return { sessions: (await identity.sessions(actor.id)).map((line) => wireSession(line, sessionId)) }
      },
      UNDOCUMENTED,
    )
    .post(
      '/sessions/end-others',
      async ({ context }) => {
        const { account, actor, sessionId } = await owners.owner(context)
        const ended = await identity.endSessions(actor.id, { allBut: sessionId })
        if (keepsApps(context.url)) return { ended, apps_disconnected: 0 }
        const apps = await appGrants.disconnect(account, 'all', actor, 'sign_out_everywhere')
        return { ended, apps_disconnected: apps }
      },
      UNDOCUMENTED,
    )
    .post(
      '/sessions/:id/end',
      async ({ context, params }) => {
        const { actor } = await owners.owner(context)
        const ended = await identity.endSessions(actor.id, { only: params.id })
        if (ended === 0) throw notFound('No such session.')
        return { ended }
      },
      UNDOCUMENTED,
    )
    .get('/export', async ({ context }) => exportAnswer(parts, await owners.owner(context)), UNDOCUMENTED)
    .post(
      '/close',
      async ({ context }) => {
        const owner = await owners.owner(context, SIGNED_IN_JUST_NOW)
        return { forfeited_micros_usd: taken(await closing.close(owner, taken(await readJson(context)))) }
      },
      { parse: 'none', ...UNDOCUMENTED },
    )
}

function changed({ actor, accountId }: Owner, at: number, change: object) {
  return auditEntry({ at, actor, accountId, action: 'account.settings', detail: { changed: Object.keys(change) } })
}

function exportAnswer(parts: SettingsParts, owner: Parameters<typeof accountExport>[1]): Response {
  return new Response(accountExport(parts, owner), {
    headers: {
      'content-type': 'application/json',
      'content-disposition': 'attachment; filename="gateway-account.json"',
      'cache-control': 'no-store',
    },
  })
}

function wireSession({ id, signedInAt, address, userAgent }: SessionLine, current: string) {
  const at = new Date(signedInAt).toISOString()
  return { id, current: id === current, signed_in_at: at, ip: address, user_agent: userAgent }
}

function settingsIn(body: unknown): Result<{ name?: string; timezone?: AccountSettings['timezone'] }, Failure> {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    return no(wrongParameters([wrong('body', 'must be a JSON object', body)]))
  const { name, timezone, ...rest } = body as Record<string, unknown>
  const errors: ParameterError[] = Object.keys(rest).map((member) =>
    wrong(member.slice(0, 60), 'is not a member of this body', rest[member]),
  )
  const line = typeof name === 'string' ? name.trim() : ''
  if (name !== undefined && (line === '' || [...line].length > MAX_NAME || !isPlainLine(line)))
    errors.push(wrong('name', `must be text of 1 to ${MAX_NAME} characters, ${PLAIN_LINE_RULE}`, name))
  const zone = timezone === null || (typeof timezone === 'string' && isTimeZone(timezone)) ? timezone : undefined
  if (timezone !== undefined && zone === undefined)
    errors.push(wrong('timezone', "must be null (the browser's) or an IANA time zone", timezone))
  if (errors.length > 0) return no(wrongParameters(errors))
  return ok({ ...(name !== undefined && { name: line }), ...(zone !== undefined && { timezone: zone }) })
}
