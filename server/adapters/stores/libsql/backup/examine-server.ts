import type { LedgerProblem } from '../../../../core/ledger/ledger-check'
import { reasonOf } from '../../../../core/result'
import { databaseName, shownReason } from '../driver/named-problem'
import { assertSyncedCommits } from '../driver/synced-commits'
import { Connection } from '../driver/worker/worker-connection'
import { appliedSchema, SCHEMA_TIME } from '../upgrade'
import { booksOf } from './snapshot'

/** A database server's report about its data, also while a gateway serves it. */
export interface ServerFacts {
  /** Its host. */
  readonly name: string
  readonly answerMs: number
  /** Why a power failure there could lose charges. */
  readonly unsynced: string | null
  /** The facts that it does not report. */
  readonly unsaid: string | null
  /** `empty`: no gateway has opened it yet. */
  readonly age: 'empty' | 'older' | 'current' | 'newer'
  /** The rest is read from tables of this version alone. */
  readonly data: DataFacts | null
}

interface DataFacts {
  readonly epoch: number
  /** Figures of the books that do not agree. */
  readonly problems: readonly LedgerProblem[]
}

interface Location {
  readonly url: string
  readonly authToken: string | null
}

/** Reads a database server. Changes nothing. Throws if it does not answer. */
export async function examineServer({ url, authToken }: Location, isSyncPromised: boolean): Promise<ServerFacts> {
  const name = databaseName(url)
  const reader = await Connection.open({ role: 'reader', url, authToken }, () => undefined)
  try {
    const sentAt = performance.now()
    await reader.rows('SELECT 1').catch((error: unknown) => {
      throw new Error(`${name} does not answer: ${shownReason(error)} Check the address and its token`)
    })
    const answerMs = Math.round(performance.now() - sentAt)
    const schema = await appliedSchema(reader)
    const age =
      schema === null ? 'empty' : schema === SCHEMA_TIME ? 'current' : schema < SCHEMA_TIME ? 'older' : 'newer'
    let unsaid: string | null = null
    const onTrouble = (_: string, reason: string) => {
      unsaid = reason
    }
    const unsynced = await assertSyncedCommits(reader, { url, isPromised: isSyncPromised, onTrouble }).then(
      () => null,
      reasonOf,
    )
    return { name, answerMs, unsynced, unsaid, age, data: age === 'current' ? await dataIn(reader) : null }
  } finally {
    await reader.close()
  }
}

async function dataIn(reader: Connection): Promise<DataFacts> {
  const [owner] = await reader.rows('SELECT epoch FROM owner WHERE id = 1')
  return { epoch: Number(owner?.[0] ?? 0), problems: (await booksOf(reader)).problems }
}
