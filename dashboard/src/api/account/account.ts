import { queryOptions } from '@tanstack/react-query'
import { recentSignInRequired, sessionEnded } from '../../session-state.ts'
import { api, callJson, unwrap } from '../client/client.ts'
import { pendingAppRequest } from './initial-query.ts'

/** Below one dollar the balance is low. */
export const LOW_BALANCE_MICROS = 1_000_000

/** Who is signed in, and what is left. Throws `missing_session` when nobody is. */
export const accountQuery = queryOptions({
  queryKey: ['account'],
  queryFn: () => fetchAccount(),
})

function fetchAccount() {
  return unwrap(api.account.get())
}

/** Starts a session. The cookie is the browser's; nothing of it is seen here. Where an app's request waits, it goes on to that. */
export async function signIn(email: string, password: string): Promise<void> {
  const request = pendingAppRequest()
  const body = { email, password, ...(request !== null && { oauth_query: request }) }
  const answer = await callJson('/api/auth/sign-in/email', { body })
  sessionEnded.set(false)
  recentSignInRequired.set(false)
  continueToApp(request, answer)
}

/** Makes an owner and signs them in. */
export async function signUp(email: string, password: string): Promise<void> {
  const name = email.split('@', 1)[0] ?? email
  const request = pendingAppRequest()
  const body = { name, email, password, ...(request !== null && { oauth_query: request }) }
  const answer = await callJson('/api/auth/sign-up/email', { body })
  sessionEnded.set(false)
  continueToApp(request, answer)
}

/** Whether a sign-in leads back to an app's request, by a load of the whole page, and not into the dashboard. */
export function isSignInForApp(): boolean {
  return pendingAppRequest() !== null
}

function continueToApp(request: string | null, answer: unknown): void {
  if (request === null) return
  const url: unknown = Reflect.get(Object(answer), 'url')
  // Without an address the request was too old: the consent page says so.
  window.location.assign(typeof url === 'string' ? url : `/consent?${request}`)
}

/** Makes the signed-in account operator, by the one-time token that the start of the gateway printed. */
export const claimOperator = (token: string) => unwrap(api.account.operator.post({ token }))

/** Ends this browser's session. */
export async function signOut(): Promise<void> {
  await callJson('/api/auth/sign-out', { body: {} })
}
