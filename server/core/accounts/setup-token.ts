import { randomBytes, timingSafeEqual } from 'node:crypto'

/**
 * The one-time token that makes an account operator where strangers can reach the host, so that whoever signs up first does
 * not own the place (spec-answers 4). Printed once at the start; held in memory only; good for one use.
 */
export class SetupToken {
  private token: string | null = null

  /** Makes the token. Shown once. */
  issue(): string {
    this.token = randomBytes(18).toString('base64url')
    return this.token
  }

  /** Makes the token useless: somebody is operator without it. */
  withdraw(): void {
    this.token = null
  }

  /** True once, for the right token. */
  use(presented: string): boolean {
    if (this.token === null) return false
    const [mine, theirs] = [Buffer.from(this.token), Buffer.from(presented)]
    if (mine.length !== theirs.length || !timingSafeEqual(mine, theirs)) return false
    this.token = null
    return true
  }
}
