import { queryOptions } from '@tanstack/react-query'
import { answered, api, callJson } from './client.ts'
import { recentSignInNeeded, sessionEnded } from './session-ended.ts'

/** Who is signed in, and what is left. Throws `missing_session` when nobody is. */
export const accountQuery = queryOptions({
  queryKey: ['account'],
  queryFn: () => fetchAccount(),
})

function fetchAccount() {
  return answered(api.account.get())
}

/** Starts a session. The cookie is the browser's; nothing of it is seen here. */
export async function signIn(email: string, password: string): Promise<void> {
  await callJson('/api/auth/sign-in/email', { body: { email, password } })
  sessionEnded.set(false)
  recentSignInNeeded.set(false)
}

/** Makes an owner and signs them in. */
export async function signUp(email: string, password: string): Promise<void> {
  const name = email.split('@', 1)[0] ?? email
  await callJson('/api/auth/sign-up/email', { body: { name, email, password } })
  sessionEnded.set(false)
}

/** Ends this browser's session. */
export async function signOut(): Promise<void> {
  await callJson('/api/auth/sign-out', { body: {} })
}
