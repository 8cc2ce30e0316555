import { queryOptions } from '@tanstack/react-query'
import { keptInvitation } from '../../session-state.ts'
import { api, callJson, unwrap } from '../client/client.ts'
import { pendingAppRequest } from './initial-query.ts'

/** The providers that this gateway signs people in with. They change only with its settings. */
export const providersQuery = queryOptions({
  queryKey: ['providers'],
  queryFn: () => unwrap(api.identities.providers.get()),
  staleTime: Number.POSITIVE_INFINITY,
})

export const identitiesQuery = queryOptions({
  queryKey: ['settings', 'identities'],
  queryFn: () => unwrap(api.identities.get()),
})

export const unlinkIdentity = (id: string) => unwrap(api.identities({ id }).unlink.post())

/** Leaves for the provider, which sends the browser back to `to`, or to the app that waits for the sign-in. */
export async function signInWith(provider: string, to: string): Promise<void> {
  const request = pendingAppRequest()
  const isInvited = keptInvitation() !== null
  await leaveFor('/api/auth/sign-in/social', {
    provider,
    callbackURL: isInvited ? '/invite' : to,
    newUserCallbackURL: isInvited ? '/invite' : '/welcome',
    errorCallbackURL: `/sign-in?${request ?? new URLSearchParams({ to })}`,
    ...(request !== null && { oauth_query: request }),
  })
}

/** The same to link an identity to the signed-in user; comes back to Settings. */
export function linkWith(provider: string): Promise<void> {
  return leaveFor('/api/auth/link-social', { provider, callbackURL: '/settings', errorCallbackURL: '/settings' })
}

async function leaveFor(path: string, body: Readonly<Record<string, unknown>>): Promise<void> {
  const answer = await callJson(path, { body: { ...body, disableRedirect: true } })
  window.location.assign(String(Reflect.get(Object(answer), 'url')))
}
