import { reasonOf } from '../../../../core/result'
import { type DatabaseError, databaseError } from '../driver/worker/worker-connection'
import type { WriteQueue } from '../driver/write-queue'
import { notedRecords } from './direct-changes'
import type { GroupSink, WriteEnd } from './group-sink'
import { type Group, groupStatements } from './group-statements'

export interface DirectSinkOptions {
  readonly writes: Pick<WriteQueue, 'group'>
  /** Whether the records are noted for the log. */
  readonly isNoted?: boolean
  /**
   * The number of our last group in the database. Groups that were sent before can no longer be committed after it. Null if another
   * process owns the database. Rejects when the database does not answer.
   */
  readonly lastGroup: (after: DatabaseError) => Promise<number | null>
  /** Another process owns the database now: this one must stop. */
  readonly onLostOwnership: () => void
  readonly onTrouble: (what: string, reason: string) => void
}

const FATE_RETRY_MS = 500

/** Writes groups directly to the tables, so that the database's constraints check them. */
export class DirectSink implements GroupSink {
  private readonly options: DirectSinkOptions
  private groups = 0
  /** The connection was cut: what is sent from then on reaches no database. */
  private isCut = false

  constructor(options: DirectSinkOptions) {
    this.options = options
  }

  async write(group: Group): Promise<WriteEnd> {
    const number = ++this.groups
    try {
      const noted = this.options.isNoted && group.records.length > 0 ? [notedRecords(group.records)] : []
      await this.options.writes.group(number, [...groupStatements(group), ...noted])
      return 'committed'
    } catch (error) {
      const problem = databaseError(error)
      if (problem.isLostOwnership) this.options.onLostOwnership()
      if (problem.isLostOwnership) return problem
      if (this.isCut) return problem
      // Also where the database refused it: the wire may have brought it twice, and the first time it was committed.
      if (!problem.isConstraint) this.options.onTrouble('commit', problem.message)
      const last = await this.lastGroup(problem)
      if (last === 'abandoned') {
        this.isCut = true
        const calls = group.records.flatMap(({ call }) => call?.id ?? [])
        if (calls.length > 0) this.options.onTrouble('unknown outcome', `may be charged: ${calls.join(' ')}`)
        return 'lost'
      }
      if (last === null) {
        this.options.onLostOwnership()
        return 'lost'
      }
      return last >= number ? 'committed' : problem
    }
  }

  /** After an error that may have occurred after the commit: asks until the database answers. */
  private async lastGroup(after: DatabaseError): Promise<number | null | 'abandoned'> {
    for (;;) {
      try {
        return await this.options.lastGroup(after)
      } catch (error) {
        // The process stops.
        if (databaseError(error).isAbandoned) return 'abandoned'
        this.options.onTrouble('fate', reasonOf(error))
        await new Promise((resolve) => setTimeout(resolve, FATE_RETRY_MS))
      }
    }
  }
}
