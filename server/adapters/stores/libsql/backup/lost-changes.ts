import { existsSync } from 'node:fs'
import { type LostChanges, LostDatabaseProblem, type ReadLostChanges } from '../../../../core/backup/restored'
import type { AccountId, KeyId } from '../../../../core/ids'
import { reasonOf } from '../../../../core/result'
import { OWN_THREADS, type WorkerThreads } from '../driver/worker/worker-threads'
import { withConnection } from './snapshot'

/** Reads what changed in a database after a copy of it was taken. Changes nothing in it. */
export function lostChanges(threads: WorkerThreads = OWN_THREADS): ReadLostChanges {
  return async (file, since): Promise<LostChanges> => {
    if (!existsSync(file)) throw new LostDatabaseProblem(`There is no database at ${file}.`)
    const at = Math.floor(since)
    try {
      return await withConnection(file, 'reader', threads, async (lost) => {
        const keys = await lost.rows(
          `SELECT id, account_id, revoked_at IS NOT NULL OR stops_at IS NOT NULL FROM keys
            WHERE created_at <= ${at} AND (revoked_at > ${at} OR disabled_at > ${at} OR (replaced_by IS NOT NULL AND stops_at > ${at}))
            ORDER BY id`,
        )
        const suspended = await lost.rows(
          `SELECT id, json_extract(suspension, '$.reason') FROM accounts
            WHERE created_at <= ${at} AND json_extract(suspension, '$.at') > ${at} ORDER BY id`,
        )
        const [fresh] = await lost.rows(
          `SELECT (SELECT count(*) FROM keys WHERE created_at > ${at}), (SELECT count(*) FROM accounts WHERE created_at > ${at})`,
        )
        return {
          keys: keys.map(([id, account, isOver]) => ({
            id: String(id) as KeyId,
            account: String(account) as AccountId, // columns of ids
            action: Number(isOver) === 1 ? 'revoke' : 'disable',
          })),
          suspensions: suspended.map(([account, reason]) => ({
            account: String(account) as AccountId,
            reason: String(reason ?? ''),
          })),
          newKeys: Number(fresh?.[0] ?? 0),
          newAccounts: Number(fresh?.[1] ?? 0),
        }
      })
    } catch (error) {
      const reason = reasonOf(error)
      throw new LostDatabaseProblem(`${file} cannot be read as a database of this gateway: ${reason}`)
    }
  }
}
