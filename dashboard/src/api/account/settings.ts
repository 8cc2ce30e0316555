import { queryOptions, useQuery } from '@tanstack/react-query'
import type {
  EndedElsewhere,
  SessionRecord,
  SettingsChange,
  SettingsRecord,
} from '../../../../server/http/account/settings-record.ts'
import { api, callJson, unwrap } from '../client/client.ts'
import { VIEWER_TIME_ZONE } from '../usage.ts'
import { type KeptAccess, keptQuery } from './apps.ts'

export const settingsQuery = queryOptions({ queryKey: ['settings'], queryFn: () => unwrap(api.settings.get()) })

/** The time zone of new budgets: the one from Settings, else the browser's. */
export function useTimezone(): string {
  return useQuery(settingsQuery).data?.timezone ?? VIEWER_TIME_ZONE
}

export const sessionsQuery = queryOptions({
  queryKey: ['settings', 'sessions'],
  queryFn: () => fetchSessions(),
})

export type SavedView = SettingsRecord['saved_views'][number]
export type AlertSetting = SettingsRecord['alerts'][number]

export type SessionLine = SessionRecord

function fetchSessions() {
  return unwrap(api.settings.sessions.get())
}

export const changeSettings = (change: SettingsChange) => unwrap(api.settings.patch({ ...change }))

/** `sent`: a link was sent to the new address. `changed`: the change has taken effect. */
export const changeEmail = (email: string) => unwrap(api.settings.email.post({ email }))
export const confirmEmail = (token: string) => unwrap(api.settings.email.confirm.post({ token }))

/** Ends all other sessions; this one continues with a new cookie. Also disconnects apps, unless they are kept. */
export const changePassword = (currentPassword: string, newPassword: string, kept: KeptAccess) =>
  callJson(`/api/auth/change-password${keptQuery(kept)}`, { body: { currentPassword, newPassword } })

export const endSession = (id: string) => unwrap(api.settings.sessions({ id }).end.post())
export async function endOtherSessions(kept: KeptAccess): Promise<EndedElsewhere> {
  return (await callJson(`/api/settings/sessions/end-others${keptQuery(kept)}`, { body: {} })) as EndedElsewhere // as its route declares
}
/** Ends every session, this one too, and disconnects all apps. */
export const endAllSessions = () => unwrap(api.settings.sessions['end-all'].post())
export const closeAccount = (email: string) => unwrap(api.settings.close.post({ email }))

/** Requests a link to set a new password. The response is the same whether or not the account exists. */
export const requestPasswordReset = (email: string) => callJson('/api/auth/request-password-reset', { body: { email } })
export const resetPassword = (token: string, newPassword: string) =>
  callJson('/api/auth/reset-password', { body: { token, newPassword } })

/** The URL where the browser downloads what is stored about the owner. */
export const EXPORT_PATH = '/api/settings/export'
