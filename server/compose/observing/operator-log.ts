import type { OperatorActs } from '../../core/audit'
import { startOperatorLog } from '../../jobs/operator-log'
import type { Log } from '../../log'
import { LineBudget } from './line-budget'

/**
 * Logs each act of an operator or of support once. It follows the audit log, so that it has whatever is audited, by page, route or command,
 * and nothing that failed.
 */
export async function openOperatorLog(acts: OperatorActs, log: Log) {
  // The process before logged what came before.
  let { position } = await acts.after(null)
  const lines = new LineBudget((action, count) => log.info('more of the same', { what: action, count }))
  const follow = async () => {
    const read = await acts.after(position)
    position = read.position
    for (const { id, action, actor, accountId, keyId } of read.acts) {
      if (!lines.take(action)) continue
      const about = { ...(accountId && { account: accountId }), ...(keyId && { key: keyId }) }
      log.info('an operator acted', { action, by: actor.id, ...about, audit: id })
    }
  }
  const job = startOperatorLog(follow, log)
  return {
    /** Reads to the end first. */
    async close() {
      await job.run()
      await job.close()
      lines.summarize()
    },
  }
}
