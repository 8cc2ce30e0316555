import { hash, randomBytes } from 'node:crypto'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const KEY_PREFIX = 'gwk_'
const BODY_LENGTH = 43
const CHECK_LENGTH = 6
const DISPLAY_PREFIX_LENGTH = 8
/** The largest multiple of 62 within a byte. Bytes from here on would make some characters more likely. */
const UNBIASED = 248

export interface NewSecret {
  /** Shown once, never stored. */
  readonly secret: string
  readonly hash: string
  readonly prefix: string
  readonly last4: string
}

/** Creates an API key: `gwk_`, 43 random base62 characters (256 bits), and a CRC32 checksum of 6 characters (spec D3). */
export function newSecret(): NewSecret {
  let body = KEY_PREFIX
  while (body.length < KEY_PREFIX.length + BODY_LENGTH)
    for (const byte of randomBytes(64))
      if (byte < UNBIASED && body.length < KEY_PREFIX.length + BODY_LENGTH) body += ALPHABET[byte % 62]
  const secret = body + checksum(body)
  return { secret, hash: hashSecret(secret), prefix: secret.slice(0, DISPLAY_PREFIX_LENGTH), last4: secret.slice(-4) }
}

/** Whether text has the format and checksum of an API key. Rejects typos without a query. */
export function looksLikeSecret(text: string): boolean {
  const bodyEnd = KEY_PREFIX.length + BODY_LENGTH
  return text.length === bodyEnd + CHECK_LENGTH && text.startsWith(KEY_PREFIX) && hasChecksum(text, bodyEnd)
}

/** Compared digit by digit: to write the checksum takes a string for each. */
function hasChecksum(text: string, bodyEnd: number): boolean {
  let value = Bun.hash.crc32(text.slice(0, bodyEnd))
  for (let at = text.length - 1; at >= bodyEnd; at--) {
    if (text.charCodeAt(at) !== ALPHABET.charCodeAt(value % 62)) return false
    value = Math.floor(value / 62)
  }
  return true
}

/** Why text cannot be a key, or null if it can. Never repeats it. `scheme`: that of the header, if it was not Bearer. */
export function secretProblem(text: string, scheme?: 'missing' | 'other'): string | null {
  if (scheme === 'missing') return 'The word "Bearer" is missing: send Authorization: Bearer <API_KEY>.'
  if (scheme === 'other') return 'The scheme of the Authorization header must be Bearer, followed by the key.'
  if (looksLikeSecret(text)) return null
  if (text === '') return 'There is no key after "Bearer".'
  if (/^\$\{?\w+\}?$/.test(text))
    return 'The name of a variable was sent instead of its value: set it where the client runs.'
  if (/^["'\u2018-\u201f]|["'\u2018-\u201f]$/.test(text))
    return 'The key was sent with quotation marks. Send it without.'
  if (/^bearer\b/i.test(text)) return 'The word "Bearer" was sent twice. Give your client the key alone.'
  if (/\s/.test(text)) return 'The key was sent with spaces or line breaks. Send it without.'
  if (!text.startsWith(KEY_PREFIX))
    return `Keys of this gateway begin with ${KEY_PREFIX}. This is another service's key, or none.`
  return 'The key is incomplete or has a wrong character: its length or checksum does not match.'
}

/** SHA-256 in hex. A fast hash is safe here, because 256 random bits cannot be guessed. */
export function hashSecret(secret: string): string {
  return hash('sha256', secret, 'hex')
}

/** CRC-32 (IEEE 802.3), for typos and secret scanners, not for security. */
function checksum(body: string): string {
  let value = Bun.hash.crc32(body)
  let text = ''
  for (let i = 0; i < CHECK_LENGTH; i++) {
    text = ALPHABET[value % 62] + text
    value = Math.floor(value / 62)
  }
  return text
}
