import { createHmac, timingSafeEqual } from 'node:crypto'
import { type Clock, DAY_MS } from '../../clock'

/** The longest address that mail can be sent to (RFC 5321), in UTF-16 code units. */
export const MAX_EMAIL_CHARACTERS = 254

/** An email address in lower case, without spaces around it; null when the text is not one. */
export function readEmail(text: string): string | null {
  const email = text.trim().toLowerCase()
  return email.length <= MAX_EMAIL_CHARACTERS && /^[^\s@]+@[^\s@]+\.[^\s@.]+$/.test(email) ? email : null
}

/** A change of email address that awaits confirmation. */
export interface MailedChange {
  readonly userId: string
  /** The token is only valid while this is the user's address, which also limits it to one use. */
  readonly from: string
  /** Equal to `from` in the confirmation of a sign-up, which changes no address. */
  readonly to: string
  /** The fingerprint of the password at the request of the change. A new password ends the token. */
  readonly password?: string | null
}

/**
 * Tokens that confirm a new email address: only the reader of that address receives one. They are signed, not stored, and expire
 * after a day or with the first change of the address.
 */
export class EmailChangeTokens {
  private readonly secret: string
  private readonly clock: Clock

  constructor(secret: string, clock: Clock) {
    this.secret = secret
    this.clock = clock
  }

  make(change: MailedChange): string {
    const payload = Buffer.from(JSON.stringify({ ...change, until: this.clock.now() + DAY_MS })).toString('base64url')
    return `${payload}.${this.signature(payload)}`
  }

  /** Returns null for a token that is forged or expired. */
  read(token: string): MailedChange | null {
    const [payload = '', signature = ''] = token.split('.')
    const [mine, theirs] = [Buffer.from(this.signature(payload)), Buffer.from(signature)]
    if (mine.length !== theirs.length || !timingSafeEqual(mine, theirs)) return null
    const { userId, from, to, password, until } = JSON.parse(Buffer.from(payload, 'base64url').toString()) // signed by us
    return this.clock.now() <= until ? { userId, from, to, password } : null
  }

  private signature(payload: string): string {
    return createHmac('sha256', this.secret).update(`email-change\n${payload}`).digest('base64url')
  }
}
