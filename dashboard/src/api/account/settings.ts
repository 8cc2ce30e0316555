import { queryOptions } from '@tanstack/react-query'
import type { SessionRecord, SettingsChange } from '../../../../server/http/account/settings-record.ts'
import { api, callJson, unwrap } from '../client/client.ts'

export const settingsQuery = queryOptions({ queryKey: ['settings'], queryFn: () => unwrap(api.settings.get()) })

export const sessionsQuery = queryOptions({
  queryKey: ['settings', 'sessions'],
  queryFn: () => fetchSessions(),
})

export type SessionLine = SessionRecord

function fetchSessions() {
  return unwrap(api.settings.sessions.get())
}

export const changeSettings = (change: SettingsChange) => unwrap(api.settings.patch({ ...change }))

/** `sent`: a link is on its way to the new address. `changed`: it holds already. */
export const changeEmail = (email: string) => unwrap(api.settings.email.post({ email }))
export const confirmEmail = (token: string) => unwrap(api.settings.email.confirm.post({ token }))

/** Every other session ends with it, and this one goes on under a new cookie. Apps end too, unless they are kept. */
export const changePassword = (currentPassword: string, newPassword: string, keepApps: boolean) =>
  callJson(`/api/auth/change-password${keepApps ? '?apps=keep' : ''}`, { body: { currentPassword, newPassword } })

export const endSession = (id: string) => unwrap(api.settings.sessions({ id }).end.post())
export const endOtherSessions = (keepApps: boolean) =>
  unwrap(api.settings.sessions['end-others'].post(undefined, { query: keepApps ? { apps: 'keep' } : {} }))
export const closeAccount = (email: string) => unwrap(api.settings.close.post({ email }))

/** Asks for a link that sets a new password; answered alike whoever asks. */
export const requestPasswordReset = (email: string) => callJson('/api/auth/request-password-reset', { body: { email } })
export const resetPassword = (token: string, newPassword: string) =>
  callJson('/api/auth/reset-password', { body: { token, newPassword } })

/** Where the browser fetches everything that is kept of this owner, as a file. */
export const EXPORT_PATH = '/api/settings/export'
