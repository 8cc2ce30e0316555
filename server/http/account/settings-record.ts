import type { Static } from '@sinclair/typebox'
import type { AccountSettings } from '../../core/accounts/account-settings'
import { readEmail } from '../../core/accounts/email-change'
import type { SessionLine } from '../../core/accounts/identity'
import {
  form,
  instant,
  judged,
  line,
  listOf,
  microsUsd,
  oneOf,
  orNull,
  partialForm,
  record,
  saying,
  text,
  timeZone,
  whole,
  yesOrNo,
} from '../openapi/json-schema'

/** What an owner may set: what is sent, and what is answered. */
const SETTINGS = {
  name: line("The owner's name.", 200),
  timezone: orNull(timeZone("An IANA time zone; null is the browser's."), "the browser's"),
}

export const SettingsChange = partialForm('What to change; the rest stays.', SETTINGS)
export type SettingsChange = Static<typeof SettingsChange>

export const SettingsRecord = record('The settings of the owner who is signed in.', {
  ...SETTINGS,
  email: text('The e-mail address that the owner signs in with.'),
  workspace_id: text('Id of the account.'),
  sends_mail: yesOrNo('Whether the gateway sends mail, so that a new address must be confirmed.'),
})
export type SettingsRecord = Static<typeof SettingsRecord>

export const NewEmail = form('The new e-mail address.', {
  email: judged<string>({ type: 'string', format: 'email', description: 'The address.' }, (value) =>
    typeof value === 'string' && readEmail(value) !== null ? null : 'must be an e-mail address',
  ),
})
export type NewEmail = Static<typeof NewEmail>

export const EmailConfirmation = form('The proof that somebody reads the new address.', {
  token: text('The token of the link in the mail.'),
})
export type EmailConfirmation = Static<typeof EmailConfirmation>

export const Closing = form('The confirmation that the account is to be closed.', {
  email: saying('must be the e-mail address of this account', text('The e-mail address of the account.')),
})
export type Closing = Static<typeof Closing>

export const EmailOutcome = record('What became of the new address.', {
  outcome: oneOf(['sent', 'changed'], '`sent`: a link is on its way to it. `changed`: it holds already.'),
})
export type EmailOutcome = Static<typeof EmailOutcome>

export const ConfirmedEmail = record('The confirmed address.', { email: text('The new address.') })
export type ConfirmedEmail = Static<typeof ConfirmedEmail>

export const SessionRecord = record('A browser that is signed in.', {
  id: text('Id of the session. It is not its token.'),
  current: yesOrNo('Whether it is the one that asks.'),
  signed_in_at: instant('Signed in at.'),
  ip: orNull(text('The address that it signed in from.')),
  user_agent: orNull(text('What the browser says that it is.')),
})
export type SessionRecord = Static<typeof SessionRecord>

export const SessionList = record('The sessions of the owner.', { sessions: listOf(SessionRecord, 'The sessions.') })
export type SessionList = Static<typeof SessionList>

export const EndedSessions = record('What was ended.', { ended: whole('Sessions that were ended.', { minimum: 0 }) })
export type EndedSessions = Static<typeof EndedSessions>

export const EndedElsewhere = record('What was ended.', {
  ...EndedSessions.properties,
  apps_disconnected: whole('Apps that were disconnected.', { minimum: 0 }),
})
export type EndedElsewhere = Static<typeof EndedElsewhere>

export const ClosedAccount = record('The account is closed.', {
  forfeited_micros_usd: microsUsd('The balance that was forfeited.'),
})
export type ClosedAccount = Static<typeof ClosedAccount>

/** Settings with whose they are. */
export function settingsRecord(
  { accountId, email, name }: { readonly accountId: string; readonly email: string; readonly name: string },
  settings: AccountSettings,
  sendsMail: boolean,
): SettingsRecord {
  return { name, email, workspace_id: accountId, timezone: settings.timezone, sends_mail: sendsMail }
}

/** A session, as seen from the session `current`. */
export function sessionRecord({ id, signedInAt, address, userAgent }: SessionLine, current: string): SessionRecord {
  const at = new Date(signedInAt).toISOString()
  return { id, current: id === current, signed_in_at: at, ip: address, user_agent: userAgent }
}
