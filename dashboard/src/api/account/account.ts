import { queryOptions, useQuery } from '@tanstack/react-query'
import type { Right } from '../../../../server/core/accounts/roles.ts'

export type { Right }

import { recentSignInRequired, sessionEnded, setShownWorkspace } from '../../session-state.ts'
import { api, callJson, unwrap } from '../client/client.ts'
import { pendingAppRequest } from './initial-query.ts'

/** Balances below one dollar are low. */
export const LOW_BALANCE_MICROS = 1_000_000

/** The signed-in account with its balance. Throws `missing_session` without a sign-in. */
export const accountQuery = queryOptions({
  queryKey: ['account'],
  queryFn: () => fetchAccount(),
})

async function fetchAccount() {
  const account = await unwrap(api.account.get())
  setShownWorkspace(account.id)
  return account
}

/** What the role of the signed-in member allows; false until it is known. */
export function useMay(right: Right): boolean {
  return useQuery(accountQuery).data?.rights.includes(right) ?? false
}

/** Starts a session. `second_factor`: it begins when a second factor is given as well. */
export async function signIn(email: string, password: string): Promise<'signed_in' | 'second_factor'> {
  const answer = await startSession('/api/auth/sign-in/email', { email, password })
  return Reflect.get(Object(answer), 'twoFactorRedirect') === true ? 'second_factor' : 'signed_in'
}

/**
 * Calls a route that may start a session. The browser keeps the cookie; scripts cannot read it. Continues to the app if one is
 * waiting for the sign-in.
 */
export async function startSession(path: string, given: Readonly<Record<string, unknown>>): Promise<unknown> {
  setShownWorkspace(null)
  const request = pendingAppRequest()
  const answer = await callJson(path, { body: { ...given, ...(request !== null && { oauth_query: request }) } })
  if (Reflect.get(Object(answer), 'twoFactorRedirect') === true) return answer
  sessionEnded.set(false)
  recentSignInRequired.set(false)
  continueToApp(request, answer)
  return answer
}

/** Creates a user. Resolves to whether they are signed in: a gateway that sends mail asks to confirm the address first. */
export async function signUp(email: string, password: string): Promise<boolean> {
  const name = email.split('@', 1)[0] ?? email
  const request = pendingAppRequest()
  const body = { name, email, password, ...(request !== null && { oauth_query: request }) }
  const answer = await callJson('/api/auth/sign-up/email', { body })
  if (Reflect.get(Object(answer), 'token') === null) return false
  sessionEnded.set(false)
  continueToApp(request, answer)
  return true
}

/** Whether a sign-in leads back to an app (with a full page load) instead of into the dashboard. */
export function isSignInForApp(): boolean {
  return pendingAppRequest() !== null
}

function continueToApp(request: string | null, answer: unknown): void {
  if (request === null) return
  const url: unknown = Reflect.get(Object(answer), 'url')
  // Without a URL, the app's request has expired; the consent page says so.
  window.location.assign(typeof url === 'string' ? url : `/consent?${request}`)
}

/** Makes the signed-in account the operator, with the one-time token that the gateway prints when it starts. */
export const claimOperator = (token: string) => unwrap(api.account.operator.post({ token }))

/** Ends this browser's session. */
export async function signOut(): Promise<void> {
  await callJson('/api/auth/sign-out', { body: {} })
  setShownWorkspace(null)
}
