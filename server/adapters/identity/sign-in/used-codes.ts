import { APIError } from 'better-auth/api'
import { lte } from 'drizzle-orm'
import type { Clock } from '../../../core/clock'
import { identityVerification } from '../../stores/libsql/schema/identity'
import type { IdentityDatabase } from '../identity-database'
import type { SecretHash } from '../secret-hash'

/** A code is accepted for up to 90 s. */
const REPLAY_MS = 120_000

/**
 * Codes of authenticator apps that were used: each opens one session. A row each, because the process that saw a code may have stopped
 * before the code ends; the library removes rows whose time is over.
 */
export class UsedCodes {
  private readonly db: IdentityDatabase
  private readonly hash: SecretHash
  private readonly clock: Clock

  constructor(db: IdentityDatabase, hash: SecretHash, clock: Clock) {
    this.db = db
    this.hash = hash
    this.clock = clock
  }

  /** Throws if the user used this code before: seen in use, over a shoulder or on the wire, it opens no second session. Of several at once, one does. */
  async refuseUsed(userId: string, code: string): Promise<void> {
    if (!(await this.take(userId, code)))
      throw new APIError('UNAUTHORIZED', { code: 'INVALID_CODE', message: 'Invalid code' })
  }

  private async take(userId: string, code: string): Promise<boolean> {
    const now = this.clock.now()
    const id = `used ${this.hash('usedCode', 'code', `${userId} ${code}`)}`
    const times = { expiresAt: new Date(now + REPLAY_MS), createdAt: new Date(now), updatedAt: new Date(now) }
    const taken = await this.db
      .insert(identityVerification)
      // With the user as its value it is removed with the account.
      .values({ id, identifier: id, value: userId, ...times })
      .onConflictDoUpdate({
        target: identityVerification.id,
        set: times,
        setWhere: lte(identityVerification.expiresAt, new Date(now)),
      })
      .returning({ id: identityVerification.id })
    return taken.length > 0
  }
}
