import { createHash, createHmac, randomInt } from 'node:crypto'
import { type PasskeyOptions, passkey } from '@better-auth/passkey'
import type { BetterAuthPlugin } from 'better-auth'
import { APIError } from 'better-auth/api'
import { symmetricDecrypt } from 'better-auth/crypto'
import { twoFactor } from 'better-auth/plugins/two-factor'
import { CALLBACK_PATH } from '../auth-request'

/** The columns that the gateway adds to the library's sessions. */
export const SESSION_FIELDS = {
  secondFactor: { type: 'boolean', required: false, defaultValue: false, input: false },
  lastSeenAt: { type: 'date', required: false, input: false },
} as const

const RECOVERY_CODES = 10
/** 79 bits: too many to try, so that their hashes need no key, and codes work on when SECRET_KEY is changed. */
const RECOVERY_CODE_CHARACTERS = 16
/** Codes from before had 50 bits, and keyed hashes. */
const SHORT_CODE_CHARACTERS = 10
/** Without letters that look like digits. */
const ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789'
const KEYED = 'hmac:'
const HASHED = 'sha256:'
const CHALLENGE_SECONDS = 600
const LOCK_SECONDS = 900
const MAX_PASSKEY_NAME_CHARACTERS = 100

/** Paths that begin a session with a second factor: a code after the password, or a passkey that verified its user. */
const WITH_SECOND_FACTOR: ReadonlySet<string> = new Set([
  '/two-factor/verify-totp',
  '/two-factor/verify-backup-code',
  '/passkey/verify-authentication',
])

export function beginsWithSecondFactor(path: string): boolean {
  return WITH_SECOND_FACTOR.has(path)
}

/** Whether browsers allow passkeys at this address: a host name with https, or localhost. */
export function offersPasskeys(baseUrl: string): boolean {
  const { protocol, hostname } = new URL(baseUrl)
  if (hostname === 'localhost') return true
  return protocol === 'https:' && !/^[\d.]+$/.test(hostname) && !hostname.startsWith('[')
}

interface SecondFactorOptions {
  readonly origin: string
  readonly secret: string
  readonly serviceName: string
}

/**
 * Authenticator apps with recovery codes, and passkeys. The library encrypts the app's secret under the gateway's key; recovery
 * codes are keyed hashes here. A passkey must verify its user (PIN, finger, face): then it is two factors by itself.
 */
export function secondFactorPlugins({ origin, secret, serviceName }: SecondFactorOptions): BetterAuthPlugin[] {
  const hash = recoveryCodeHash(secret)
  const factors = twoFactor({
    issuer: `${serviceName} (${new URL(origin).host})`,
    // Users without a password proved themselves by a recent sign-in at their provider.
    allowPasswordless: true,
    twoFactorCookieMaxAge: CHALLENGE_SECONDS,
    accountLockout: { enabled: true, maxFailedAttempts: 10, durationSeconds: LOCK_SECONDS },
    backupCodeOptions: {
      customBackupCodesGenerate: () => Array.from({ length: RECOVERY_CODES }, recoveryCode),
      storeBackupCodes: {
        // Codes that remain after a use are hashes already.
        encrypt: async (codes) =>
          JSON.stringify((JSON.parse(codes) as string[]).map((code) => (isHashed(code) ? code : hash(code)))),
        decrypt: async (stored) => stored,
      },
    },
  })
  // Whoever signs in by a provider gives the gateway's own second factor as well, as after the password.
  for (const challenge of factors.hooks.after) {
    const { matcher } = challenge
    challenge.matcher = (context) => matcher(context) || context.path === CALLBACK_PATH
  }
  const plugins = offersPasskeys(origin) ? [factors, passkey(passkeyOptions(origin, serviceName))] : [factors]
  // As in oauth-options.ts: the packages' own types do not agree under exactOptionalPropertyTypes.
  return plugins as unknown as BetterAuthPlugin[]
}

function passkeyOptions(origin: string, rpName: string): PasskeyOptions {
  return {
    rpID: new URL(origin).hostname,
    rpName,
    origin,
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    registration: {
      afterVerification: ({ verification }) => requireVerifiedUser(verification.registrationInfo?.userVerified),
    },
    authentication: {
      afterVerification: ({ verification }) => requireVerifiedUser(verification.authenticationInfo.userVerified),
    },
  }
}

/** The library looks for the passkey by whatever it is given as its id. */
export function requirePasskeyId(body: unknown): void {
  const response: unknown = Reflect.get(Object(body), 'response')
  if (typeof Reflect.get(Object(response), 'id') === 'string') return
  throw new APIError('BAD_REQUEST', { ...REFUSED_PASSKEY })
}

export const REFUSED_PASSKEY = {
  code: 'PASSKEY_REFUSED',
  message: 'The passkey could not be verified for this site. Try again, or use another one.',
}

/** The library asks authenticators to verify their user but accepts those that do not. */
function requireVerifiedUser(verified: boolean | undefined): void {
  if (verified) return
  throw new APIError('UNAUTHORIZED', {
    code: 'PASSKEY_NOT_VERIFIED',
    message: 'This passkey did not verify that it is you. Set a PIN, finger or face for it, then try again.',
  })
}

/** Hyphens, spaces and letter case make no difference. */
export function recoveryCodeHash(secret: string): (code: string) => string {
  return (code) => {
    const text = `recovery-code\n${plainCode(code)}`
    return plainCode(code).length === SHORT_CODE_CHARACTERS
      ? KEYED + createHmac('sha256', secret).update(text).digest('base64url')
      : HASHED + createHash('sha256').update(text).digest('base64url')
  }
}

function isHashed(code: string): boolean {
  return code.startsWith(HASHED) || code.startsWith(KEYED)
}

/** Whether the secret of an authenticator app, as the library stores it, opens with the gateway's key. */
export function secondFactorOpener(secret: string): (stored: string) => Promise<boolean> {
  const key = { keys: new Map([[1, secret]]), currentVersion: 1 }
  return (stored) =>
    symmetricDecrypt({ key, data: stored }).then(
      () => true,
      () => false,
    )
}

function plainCode(code: string): string {
  return code.toLowerCase().replace(/[^a-z0-9]/g, '')
}

function recoveryCode(): string {
  const code = Array.from({ length: RECOVERY_CODE_CHARACTERS }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')
  return code.replace(/(.{4})(?=.)/g, '$1-')
}

/**
 * The members of a body that the library gets at these paths. It would trust a device for 30 days, skip the session or begin another one if the
 * body says so; those members are overruled. A member that is missing here is passed on.
 */
export function secondFactorBody(path: string, body: unknown, hash: (code: string) => string): object | null {
  const code: unknown = Reflect.get(Object(body), 'code')
  const name: unknown = Reflect.get(Object(body), 'name')
  switch (path) {
    case '/two-factor/enable':
      return { method: 'totp', issuer: '' }
    case '/two-factor/verify-totp':
      return { trustDevice: false, ...(typeof code === 'string' && { code: code.replace(/\s/g, '') }) }
    case '/two-factor/verify-backup-code':
      // Always hashed, so that what is stored is no code.
      return { trustDevice: false, disableSession: false, ...(typeof code === 'string' && { code: hash(code) }) }
    case '/passkey/verify-registration':
    case '/passkey/update-passkey':
      return {
        createSession: false,
        ...(typeof name === 'string' && { name: [...name].slice(0, MAX_PASSKEY_NAME_CHARACTERS).join('') }),
      }
    default:
      return null
  }
}
