import { queryOptions } from '@tanstack/react-query'
import { answered, api, callJson } from './client.ts'

export const settingsQuery = queryOptions({ queryKey: ['settings'], queryFn: () => answered(api.settings.get()) })

export const sessionsQuery = queryOptions({
  queryKey: ['settings', 'sessions'],
  queryFn: () => fetchSessions(),
})

export type SessionLine = Awaited<ReturnType<typeof fetchSessions>>['sessions'][number]

function fetchSessions() {
  return answered(api.settings.sessions.get())
}

export const changeSettings = (change: { name?: string; timezone?: string | null }) =>
  answered(api.settings.patch({ ...change }))

/** `sent`: a link is on its way to the new address. `changed`: it holds already. */
export const changeEmail = (email: string) => answered(api.settings.email.post({ email }))
export const confirmEmail = (token: string) => answered(api.settings.email.confirm.post({ token }))

/** Every other session ends with it, and this one goes on under a new cookie. Apps end too, unless they are kept. */
export const changePassword = (currentPassword: string, newPassword: string, keepsApps: boolean) =>
  callJson(`/api/auth/change-password${keepsApps ? '?apps=keep' : ''}`, { body: { currentPassword, newPassword } })

export const endSession = (id: string) => answered(api.settings.sessions({ id }).end.post())
export const endOtherSessions = (keepsApps: boolean) =>
  answered(api.settings.sessions['end-others'].post(undefined, { query: keepsApps ? { apps: 'keep' } : {} }))
export const closeAccount = (email: string) => answered(api.settings.close.post({ email }))

/** Asks for a link that sets a new password; answered alike whoever asks. */
export const askForReset = (email: string) => callJson('/api/auth/request-password-reset', { body: { email } })
export const resetPassword = (token: string, newPassword: string) =>
  callJson('/api/auth/reset-password', { body: { token, newPassword } })

/** Where the browser fetches everything that is kept of this owner, as a file. */
export const EXPORT_PATH = '/api/settings/export'
