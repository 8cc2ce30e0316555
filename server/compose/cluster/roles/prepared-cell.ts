import type { CellName } from '../../../core/cluster/cells'
import type { Lease } from '../../../core/cluster/leases'
import type { Ownership, PreparedGateway } from './owned-gateway'

interface PreparedParts<G> {
  readonly cell: CellName
  readonly nodeId: string
  readonly prepare: (ownership: Ownership, cell: CellName) => Promise<PreparedGateway<G>>
  /** Called when it can no longer be used: before it has a lease, nothing else notices. */
  readonly onLost: (reason: string, lease: Lease | null) => void
}

/** The accounts of a cell, opened as far as possible while another node owns them (ADR 62). */
export class PreparedCell<G> {
  private lease: Lease | null = null
  /** It is closed: losses that its parts report afterwards are ignored. */
  private isOver = false
  private readonly opening: Promise<PreparedGateway<G>>

  constructor({ cell, nodeId, prepare, onLost }: PreparedParts<G>) {
    const held = () => this.lease
    const lease = {
      ...{ cell, nodeId },
      get term() {
        const own = held()
        if (!own) throw new Error('a prepared cell has no term')
        return own.term
      },
    }
    const mayGrant = () => this.lease?.isHeld() ?? false
    const reportLoss = (reason: string) => {
      if (!this.isOver) onLost(reason, this.lease)
    }
    this.opening = prepare({ lease, mayGrant, onLost: reportLoss }, cell)
    // `ready` and `begin` report the failure.
    this.opening.catch(() => undefined)
  }

  /** Rejects if the cell cannot be prepared. */
  async ready(): Promise<void> {
    await this.opening
  }

  /** Opens the rest under the lease of this node. */
  async begin(lease: Lease): Promise<G> {
    this.lease = lease
    try {
      return await (await this.opening).begin()
    } catch (error) {
      this.isOver = true
      throw error
    }
  }

  /** Closes what was opened without `begin`. */
  async close(): Promise<void> {
    this.isOver = true
    await this.opening.then(
      (prepared) => prepared.close(),
      () => undefined,
    )
  }
}
