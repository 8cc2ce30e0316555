import { KeyedMutex } from '../keyed-mutex'
import type { CellName } from './cells'

/** The suffix of a witness's text when the directory is complete. */
const COMPLETE = ' complete'

/** The text that a node wrote. */
interface WitnessText {
  readonly text: string
  /** Whether it was written within the last 10 s (LEASE_MS), by the database's clock. */
  readonly isRecent: boolean
}

/** A row of each node in the control database, by which the node notices an older copy of it. */
export interface WitnessStore {
  /**
   * In one transaction: returns the texts of all nodes, and writes this node's next one: `kept` if its last text is recent and one of `before`,
   * otherwise `restarted`.
   */
  attest(
    nodeId: string,
    before: readonly string[],
    texts: { readonly kept: string; readonly restarted: string },
  ): Promise<ReadonlyMap<string, WitnessText>>
}

/** A period in which the control database lost nothing that this node wrote. */
interface Watch {
  /** The last text that was certainly written, and the one that this node tried to write since. */
  written: string
  pending: string | null
  /** The texts of the other nodes when the period began. */
  readonly others: ReadonlyMap<string, WitnessText>
  /** The cells that synced the directory since then. */
  readonly synced: Set<CellName>
  isComplete: boolean
}

interface WitnessParts {
  readonly nodeId: string
  readonly cells: readonly CellName[]
  readonly store: WitnessStore
  /** Resolves when that cell has synced the directory. Rejects soon if the cell does not answer. */
  readonly ask: (cell: CellName) => Promise<unknown>
  /** The control database lost a text of this node: it was replaced by an older copy. */
  readonly onLoss: () => void
}

/**
 * Confirms that the directory has the records of all cells, without asking them (ADR 61). A cell writes a row before what the row leads to. So once all
 * cells have synced, the directory can only lack records if the control database is replaced by an older copy. Each node writes a new text there every few
 * seconds, and checks that its last one is still there. If it could not for longer than replacing the database takes, it starts over. A node that starts
 * later trusts one that has watched for longer.
 */
export class DirectoryWitness {
  private readonly parts: WitnessParts
  private readonly mutex = new KeyedMutex()
  private watch: Watch | null = null

  constructor(parts: WitnessParts) {
    this.parts = parts
  }

  /** A different object once the control database may have lost something, as far as this node knows. */
  get since(): object | null {
    return this.watch
  }

  /** Checks whether the control database lost anything, and asks the cells that have not synced since then. Call it every few seconds. */
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

  /** Whether the directory is certainly complete, as the control database is now. False if that is unknown. */
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
    const restarted = `${id} new`
    // An unanswered text is sent again, so that the database has one of only two texts.
    const kept = watch?.pending ?? (watch?.isComplete ? id + COMPLETE : id)
    const before = watch ? [watch.written, ...(watch.pending === null ? [] : [watch.pending])] : []
    if (watch) watch.pending = kept
    const found = await store.attest(nodeId, before, { kept, restarted })
    const own = found.get(nodeId)
    const isThere = own !== undefined && before.includes(own.text)
    if (!watch || !isThere || !own.isRecent) {
      if (watch && !isThere) onLoss()
      const begun: Watch = { written: restarted, pending: null, others: found, synced: new Set(), isComplete: false }
      this.watch = begun
      return begun
    }
    watch.written = kept
    watch.pending = null
    // Only a node that found its own text unchanged writes this, and it did so after this watch began.
    const isNew = ([node, { text }]: readonly [string, WitnessText]) =>
      node !== nodeId && text.endsWith(COMPLETE) && watch.others.get(node)?.text !== text
    watch.isComplete ||= [...found].some(isNew)
    return watch
  }
}
