import { KeyedMutex } from '../keyed-mutex'
import type { CellName } from './cells'

/** How what a witness wrote ends if the directory lacks nothing. */
const COMPLETE = ' complete'

/** What a node wrote. */
interface Words {
  readonly text: string
  /** Whether it was written within the last 10 s (LEASE_MS), by the database's clock. */
  readonly isRecent: boolean
}

/** What a node writes where nobody else does, so that it notices an older copy of the control database. */
export interface WitnessStore {
  /**
   * In one transaction: returns by node what all had written, and writes for this one `kept` if what it had written is recent and one of `before`,
   * otherwise `anew`.
   */
  attest(
    nodeId: string,
    before: readonly string[],
    words: { readonly kept: string; readonly anew: string },
  ): Promise<ReadonlyMap<string, Words>>
}

/** A time in which the control database lost nothing that this node wrote. */
interface Watch {
  /** The last thing that it surely wrote, and what it tried to write since. */
  written: string
  pending: string | null
  /** What the other nodes had written when it began. */
  readonly others: ReadonlyMap<string, Words>
  /** The cells that told the directory since then. */
  readonly synced: Set<CellName>
  isComplete: boolean
}

interface WitnessParts {
  readonly nodeId: string
  readonly cells: readonly CellName[]
  readonly store: WitnessStore
  /** Resolves when that cell has told the directory what it lacks. Rejects soon if it does not answer. */
  readonly ask: (cell: CellName) => Promise<unknown>
  /** The control database lost what this node had written: somebody put an older copy in its place. */
  readonly onLoss: () => void
}

/**
 * Says that the directory lacks nothing of any cell, without asking them (ADR 61). A cell writes a row before what the row leads to. So once all cells have
 * told, the directory lacks something only if the control database is replaced by an older copy. Each node writes something new there every few seconds, and
 * knows by it that what it once saw is still the case. If it could not for longer than a copy takes to be put in place, it begins anew. A node that
 * comes later believes one that has watched for longer.
 */
export class DirectoryWitness {
  private readonly parts: WitnessParts
  private readonly mutex = new KeyedMutex()
  private watch: Watch | null = null

  constructor(parts: WitnessParts) {
    this.parts = parts
  }

  /** Another object when the control database may have lost something, as far as this node can say. */
  get since(): object | null {
    return this.watch
  }

  /** Looks whether the control database lost anything, and asks the cells that have not told since then. To be called every few seconds. */
  async look(): Promise<void> {
    const watch = await this.attest()
    if (watch.isComplete) return
    const silent = this.parts.cells.filter((cell) => !watch.synced.has(cell))
    const asked = silent.map(async (cell) => {
      await this.parts.ask(cell)
      watch.synced.add(cell)
    })
    await Promise.allSettled(asked)
    watch.isComplete ||= watch.synced.size === this.parts.cells.length
  }

  /** Whether the directory lacks nothing for certain, as the control database is now. False if nobody can say. */
  vouches(): Promise<boolean> {
    return this.attest().then(
      ({ isComplete }) => isComplete,
      () => false,
    )
  }

  private attest(): Promise<Watch> {
    return this.mutex.take('attest', () => this.attestNext())
  }

  private async attestNext(): Promise<Watch> {
    const { nodeId, store, onLoss } = this.parts
    const { watch } = this
    const id = crypto.randomUUID()
    const anew = `${id} new`
    // What was sent without an answer is sent again, so that there are only two things that may be there.
    const kept = watch?.pending ?? (watch?.isComplete ? id + COMPLETE : id)
    const before = watch ? [watch.written, ...(watch.pending === null ? [] : [watch.pending])] : []
    if (watch) watch.pending = kept
    const found = await store.attest(nodeId, before, { kept, anew })
    const own = found.get(nodeId)
    const isThere = own !== undefined && before.includes(own.text)
    if (!watch || !isThere || !own.isRecent) {
      if (watch && !isThere) onLoss()
      const begun: Watch = { written: anew, pending: null, others: found, synced: new Set(), isComplete: false }
      this.watch = begun
      return begun
    }
    watch.written = kept
    watch.pending = null
    // Only a node that found its own words unchanged writes this, and it wrote it after this watch began.
    const isNew = ([node, { text }]: readonly [string, Words]) =>
      node !== nodeId && text.endsWith(COMPLETE) && watch.others.get(node)?.text !== text
    watch.isComplete ||= [...found].some(isNew)
    return watch
  }
}
