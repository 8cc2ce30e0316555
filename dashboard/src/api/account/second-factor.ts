import { queryOptions } from '@tanstack/react-query'
import { callJson } from '../client/client.ts'
import { startSession } from './account.ts'

export interface AppSetUp {
  /** The `otpauth:` link of the QR code. */
  readonly link: string
  readonly recoveryCodes: readonly string[]
}

/** Begins to set up an authenticator app; its first code completes it. */
export async function beginAppSetUp(password: string): Promise<AppSetUp> {
  const body = await callJson('/api/auth/two-factor/enable', { body: passwordBody(password) })
  return { link: String(Reflect.get(Object(body), 'totpURI')), recoveryCodes: codesIn(body) }
}

export const verifyAppCode = (code: string) => callJson('/api/auth/two-factor/verify-totp', { body: { code } })
/** The second half of a sign-in. */
export const signInWithCode = (code: string) => startSession('/api/auth/two-factor/verify-totp', { code })
export const signInWithRecoveryCode = (code: string) =>
  startSession('/api/auth/two-factor/verify-backup-code', { code })
export const removeApp = (password: string) =>
  callJson('/api/auth/two-factor/disable', { body: passwordBody(password) })

export async function newRecoveryCodes(password: string): Promise<readonly string[]> {
  return codesIn(await callJson('/api/auth/two-factor/generate-backup-codes', { body: passwordBody(password) }))
}

/** Users without a password are asked for none. */
const passwordBody = (password: string) => (password === '' ? {} : { password })

function codesIn(body: unknown): readonly string[] {
  const codes: unknown = Reflect.get(Object(body), 'backupCodes')
  return Array.isArray(codes) ? codes.map(String) : []
}

export interface Passkey {
  readonly id: string
  readonly name: string | null
  readonly createdAt: string
}

export const passkeysQuery = queryOptions({ queryKey: ['settings', 'passkeys'], queryFn: () => fetchPasskeys() })

async function fetchPasskeys(): Promise<readonly Passkey[]> {
  const body = await callJson('/api/auth/passkey/list-user-passkeys')
  return Array.isArray(body) ? body.map(passkeyOf) : []
}

function passkeyOf(row: unknown): Passkey {
  const read = (name: string): unknown => Reflect.get(Object(row), name)
  const name = read('name')
  return {
    id: String(read('id')),
    name: typeof name === 'string' && name !== '' ? name : null,
    createdAt: String(read('createdAt')),
  }
}

export const removePasskey = (id: string) => callJson('/api/auth/passkey/delete-passkey', { body: { id } })

/** Whether this browser can use passkeys at this address. */
export function canUsePasskeys(): boolean {
  const { hostname } = window.location
  return (
    window.isSecureContext && 'PublicKeyCredential' in window && !/^[\d.]+$/.test(hostname) && !hostname.includes('[')
  )
}

/** Creates a passkey on a device that the owner picks, and names it. */
export async function addPasskey(name: string): Promise<void> {
  const { startRegistration } = await import('@simplewebauthn/browser')
  const optionsJSON = (await callJson('/api/auth/passkey/generate-register-options')) as Parameters<
    typeof startRegistration
  >[0]['optionsJSON']
  const response = await startRegistration({ optionsJSON })
  await callJson('/api/auth/passkey/verify-registration', { body: { response, name } })
}

/** Signs in with a passkey that the owner picks. */
export async function passkeySignIn(): Promise<void> {
  const { startAuthentication } = await import('@simplewebauthn/browser')
  const options = (await callJson('/api/auth/passkey/generate-authenticate-options')) as Parameters<
    typeof startAuthentication
  >[0]['optionsJSON']
  // The gateway refuses a passkey that does not verify its user.
  const response = await startAuthentication({ optionsJSON: { ...options, userVerification: 'required' } })
  await startSession('/api/auth/passkey/verify-authentication', { response })
}

/** Whether the owner or the browser called the ceremony off: no answer of the gateway. */
export function isCancelled(error: unknown): boolean {
  return error instanceof Error && (error.name === 'NotAllowedError' || error.name === 'AbortError')
}
