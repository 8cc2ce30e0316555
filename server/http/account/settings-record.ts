import type { Static } from '@sinclair/typebox'
import { type AccountSettings, MAX_VIEW_NAME, MAX_VIEWS, VIEW_PAGES } from '../../core/accounts/account-settings'
import { ALERT_KINDS, type Alert, MAX_ALERTS } from '../../core/accounts/alerts'
import type { SecondFactors, SessionLine } from '../../core/accounts/identity'
import { readEmail } from '../../core/accounts/mails/email-change'
import { isoTime } from '../../core/clock'
import { fromUsdNumber, MICROS_PER_USD } from '../../core/money'
import {
  checked,
  form,
  instant,
  line,
  listOf,
  microsUsd,
  oneOf,
  orNull,
  partialForm,
  record,
  text,
  timeZone,
  usd,
  whole,
  withRule,
  yesOrNo,
} from '../openapi/json-schema'

/** The settings that an owner can change, both in requests and in responses. */
const SETTINGS = {
  name: line("The owner's name.", 200),
  timezone: orNull(timeZone("An IANA time zone; null means the browser's."), "the browser's"),
  saved_views: listOf(
    form('A page of the dashboard with filters.', {
      name: line('Its name.', MAX_VIEW_NAME),
      page: oneOf(VIEW_PAGES, 'The page.'),
      query: line("The search part of the page's address, without the question mark.", 1000),
    }),
    'The views that the owner saved, all of them.',
    { maxItems: MAX_VIEWS },
  ),
  alerts: listOf(
    withRule(
      'must be a spend of a day or a balance with usd, or failures of an hour with percent, of one key or of all',
      form(
        'What to hear of, as the event alert.reached.',
        {
          on: oneOf(
            ALERT_KINDS,
            '`spend_day`: the spend of a day reaches `usd`. `balance`: the balance falls below `usd`. `failures_hour`: `percent` of at least 20 requests of an hour failed.',
          ),
          usd: usd('US dollars.'),
          percent: whole('Percent of the requests.', { minimum: 1, maximum: 100 }),
          key: orNull(text('Only calls of this key or app. Not for `balance`.', { maxLength: 64 })),
        },
        ['usd', 'percent', 'key'],
      ),
    ),
    'The alerts of the account, all of them.',
    { maxItems: MAX_ALERTS },
  ),
}

export const SettingsChange = partialForm('The settings to change. The others stay unchanged.', SETTINGS)
export type SettingsChange = Static<typeof SettingsChange>

export const SettingsRecord = record('The settings of the owner who is signed in.', {
  ...SETTINGS,
  email: text('The email address that the owner signs in with.'),
  workspace_id: text('Id of the account.'),
  has_password: yesOrNo('Whether the owner has a password. One who signed up with an identity of a provider has none.'),
  second_factor: record('The second factors of the owner.', {
    app: yesOrNo('Whether an authenticator app is set up.'),
    recovery_codes: whole('Recovery codes that were not used yet.', { minimum: 0 }),
    passkeys: whole('Number of passkeys.', { minimum: 0 }),
    passkeys_offered: yesOrNo('Whether this gateway can use passkeys: its BASE_URL is a host name.'),
    required: yesOrNo('Whether this owner must use a second factor for what needs a recent sign-in.'),
  }),
  sends_mail: yesOrNo('Whether the gateway sends email. If so, a new address must be confirmed.'),
})
export type SettingsRecord = Static<typeof SettingsRecord>

/** An address, which `readEmail` reads. */
export const EMAIL = checked<string>({ type: 'string', format: 'email', description: 'The address.' }, (value) =>
  typeof value === 'string' && readEmail(value) !== null ? null : 'must be an email address',
)

export const NewEmail = form('The new email address.', { email: EMAIL })
export type NewEmail = Static<typeof NewEmail>

export const EmailConfirmation = form('The proof that the owner receives email at the new address.', {
  token: text('The token from the link in the email.'),
})
export type EmailConfirmation = Static<typeof EmailConfirmation>

export const Closing = form('The confirmation to delete the account.', {
  email: withRule('must be the email address of this account', text('The email address of the account.')),
})
export type Closing = Static<typeof Closing>

export const EmailOutcome = record('The result of the change.', {
  outcome: oneOf(
    ['sent', 'changed'],
    '`sent`: a confirmation link was sent to the new address. `changed`: the change has taken effect.',
  ),
})
export type EmailOutcome = Static<typeof EmailOutcome>

export const ConfirmedEmail = record('The confirmed address.', { email: text('The new address.') })
export type ConfirmedEmail = Static<typeof ConfirmedEmail>

export const SessionRecord = record('A browser that is signed in.', {
  id: text('Id of the session. It is not its token.'),
  current: yesOrNo('Whether it is the session of this request.'),
  signed_in_at: instant('When it signed in.'),
  last_seen_at: orNull(instant('When it was last used, to the minute.'), 'never'),
  second_factor: yesOrNo('Whether it signed in with a second factor.'),
  ip: orNull(text('The IP address that it signed in from.')),
  user_agent: orNull(text('The user agent of the browser.')),
})
export type SessionRecord = Static<typeof SessionRecord>

export const SessionList = record('The sessions of the owner.', { sessions: listOf(SessionRecord, 'The sessions.') })
export type SessionList = Static<typeof SessionList>

export const EndedSessions = record('The result.', {
  ended: whole('Number of sessions that were signed out.', { minimum: 0 }),
})
export type EndedSessions = Static<typeof EndedSessions>

export const EndedElsewhere = record('The result.', {
  ...EndedSessions.properties,
  apps_disconnected: whole('Number of apps that were disconnected.', { minimum: 0 }),
})
export type EndedElsewhere = Static<typeof EndedElsewhere>

export const ClosedAccount = record('The account is closed.', {
  forfeited_micros_usd: microsUsd('The balance that was forfeited.'),
})
export type ClosedAccount = Static<typeof ClosedAccount>

type AlertRecord = SettingsRecord['alerts'][number]

function alertRecord({ on, key, threshold }: Alert): AlertRecord {
  return on === 'failures_hour' ? { on, percent: threshold, key } : { on, usd: threshold / MICROS_PER_USD, key }
}

/** The alert of a form; null if it does not say what its kind needs, or more. */
export function alertOf({ on, usd, percent, key = null }: AlertRecord): Alert | null {
  const isAbout = on === 'failures_hour' ? percent !== undefined && usd === undefined : usd !== undefined
  const micros = usd === undefined ? null : fromUsdNumber(usd)
  const threshold = on === 'failures_hour' ? percent : micros
  if (!isAbout || (on !== 'failures_hour' && percent !== undefined) || (on === 'balance' && key !== null)) return null
  return threshold ? { on, threshold, key: key as Alert['key'] } : null // any text: a key that does not exist spends nothing
}

/** The settings of an owner, with the account they belong to. */
export function settingsRecord(
  { accountId, email, name }: { readonly accountId: string; readonly email: string; readonly name: string },
  settings: AccountSettings,
  second: SecondFactors & { readonly passkeysOffered: boolean; readonly required: boolean },
  { hasPassword, sendsMail }: { readonly hasPassword: boolean; readonly sendsMail: boolean },
): SettingsRecord {
  const { app, recoveryCodes, passkeys, passkeysOffered, required } = second
  return {
    name,
    email,
    workspace_id: accountId,
    has_password: hasPassword,
    timezone: settings.timezone,
    saved_views: settings.savedViews,
    alerts: settings.alerts.map(alertRecord),
    second_factor: { app, recovery_codes: recoveryCodes, passkeys, passkeys_offered: passkeysOffered, required },
    sends_mail: sendsMail,
  }
}

/** A session, as seen from the session `current`. */
export function sessionRecord(line: SessionLine, current: string): SessionRecord {
  const { id, ...details } = sessionDetails(line)
  return { id, current: id === current, ...details }
}

/** A session, as seen from anywhere. */
export function sessionDetails(line: SessionLine): Omit<SessionRecord, 'current'> {
  const { id, signedInAt, lastSeenAt, secondFactor, address, userAgent } = line
  return {
    id,
    signed_in_at: isoTime(signedInAt),
    last_seen_at: lastSeenAt === null ? null : isoTime(lastSeenAt),
    second_factor: secondFactor,
    ip: address,
    user_agent: userAgent,
  }
}
