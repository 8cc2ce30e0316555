import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Connection, DatabaseError } from '../../../server/adapters/stores/libsql/driver/worker/worker-connection'
import type { SqlStatement, WireResult } from '../../../server/adapters/stores/libsql/driver/worker-wire'
import { WriteQueue } from '../../../server/adapters/stores/libsql/driver/write-queue'
import { DirectSink, type DirectSinkOptions } from '../../../server/adapters/stores/libsql/journal/direct-sink'
import { GroupCommit, type GroupCommitOptions } from '../../../server/adapters/stores/libsql/journal/group-commit'
import type { AccountId } from '../../../server/core/ids'
import { appended } from '../../../server/core/ledger/journal'
import { micros, ZERO } from '../../../server/core/money'
import { accountId, opening, openTestStores } from '../../support/ledger-parts'

type Write = (number: number, statements: readonly SqlStatement[]) => Promise<readonly WireResult[]>

export const ioError = () => new DatabaseError({ message: 'disk I/O error', code: 'SQLITE_IOERR' })

/** A promise that the test resolves by hand. */
export function gate(): { readonly open: () => void; readonly opened: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { open: resolve, opened: promise }
}

export type FaultyOptions = Partial<Pick<GroupCommitOptions, 'patienceMs'> & Pick<DirectSinkOptions, 'lastGroup'>>

/**
 * A group commit on a real file, between whose two ends the test stands: `before` and `after` run around each group's real
 * commit, and may wait or throw. With `keepFolder`, the caller removes the folder.
 */
export async function openFaulty(options: FaultyOptions = {}, keepFolder = false) {
  const parts = await openTestStores(keepFolder ? { folder: await mkdtemp(join(tmpdir(), 'gateway-faulty-')) } : {})
  const writer = await Connection.open({ role: 'writer', url: parts.url, authToken: null }, () => undefined)
  const read = async (sql: string) =>
    (await writer.send({ op: 'batch', mode: 'read', statements: [{ sql, args: [] }] }))[0]
  const number = async (sql: string) => Number((await read(sql))?.rows[0]?.[0] ?? 0)
  const queue = new WriteQueue(writer, await number('SELECT epoch FROM owner'))
  const groups: string[][] = []
  const trouble: string[] = []
  const faults: { before: () => Promise<void> | void; after: () => Promise<void> | void } = {
    before: () => undefined,
    after: () => undefined,
  }
  const lost: true[] = []
  const group: Write = async (groupNumber, statements) => {
    groups.push(statements.map((statement) => statement.sql.split(/\s+/).slice(0, 3).join(' ')))
    await faults.before()
    const results = await queue.group(groupNumber, statements)
    await faults.after()
    return results
  }
  const onTrouble = (what: string, reason: string) => trouble.push(`${what}: ${reason}`)
  const sink = new DirectSink({
    writes: { group },
    lastGroup: options.lastGroup ?? (() => number('SELECT last_group FROM owner')),
    onLostOwnership: () => lost.push(true),
    onTrouble,
  })
  const journal = new GroupCommit({ sink, patienceMs: options.patienceMs ?? 60_000, onTrouble })
  return {
    ...parts,
    journal,
    faults,
    groups,
    trouble,
    lost,
    number,
    /** An account with that much credit, opened through this journal, whose groups are counted from then on. */
    async account(credit = 1_000_000): Promise<AccountId> {
      const id = accountId()
      await parts.holds.openAccount(id)
      // However little patience the test asks for: on a busy machine the first commits take longer than that.
      for (let end = ''; end !== 'committed'; ) {
        const outcome = await appended(journal, opening(id, credit))
        end = outcome.kind === 'unknown' ? await outcome.fate : outcome.kind
      }
      groups.length = 0
      parts.holds.credited({ account: id, part: 'credit', amount: micros(credit), toppedUp: ZERO })
      return id
    },
    async close() {
      await journal.drained()
      await writer.close()
      await parts.close()
    },
  }
}
