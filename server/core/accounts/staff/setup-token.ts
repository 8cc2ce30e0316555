import { randomBytes, timingSafeEqual } from 'node:crypto'

/**
 * A one-time token that makes an account the operator. Needed where strangers can reach the host, so that the first to sign up
 * does not take control (spec D4). Printed at startup, held only in memory.
 */
export class SetupToken {
  private token: string | null = null

  /** Creates the token, replacing an earlier one. */
  issue(): string {
    this.token = randomBytes(18).toString('base64url')
    return this.token
  }

  /** Invalidates the token, once there is an operator. */
  withdraw(): void {
    this.token = null
  }

  /** Returns true once, for the right token. */
  use(token: string): boolean {
    if (this.token === null) return false
    const [mine, theirs] = [Buffer.from(this.token), Buffer.from(token)]
    if (mine.length !== theirs.length || !timingSafeEqual(mine, theirs)) return false
    this.token = null
    return true
  }
}
