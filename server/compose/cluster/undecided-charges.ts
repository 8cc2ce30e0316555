import type { CellMessages } from '../../core/cluster/cell-messages'
import type { CellName } from '../../core/cluster/cells'
import type { UndecidedCharge } from '../../core/ledger/ledger'
import { reasonOf } from '../../core/result'
import type { Log } from '../../log'

const RETRY_MS = 1_000
/** How long a stopping node tries to reach the owner. */
const LAST_TRY_MS = 3_000
/** How many charges one message carries. */
const MAX_CHARGES = 50

interface Left {
  readonly cell: CellName
  /** The term of the ownership under which they were left. */
  readonly term: number
}

interface Parts {
  readonly messages: CellMessages
  readonly log: Pick<Log, 'warn' | 'error'>
  /** For tests. */
  readonly sleep?: (ms: number) => Promise<void>
}

/**
 * Charges whose outcome gateways of this node could not determine when they lost their database. Their callers got 503, so the next owner of the cell
 * reverses those that were written. This node sends them until the owner has handled them; if the process ends before, the log has their ids.
 */
export class UndecidedCharges {
  private readonly parts: Parts
  /** Unsent charges, by cell and ownership. */
  private readonly groups = new Map<string, { readonly charges: UndecidedCharge[]; readonly sent: Promise<void> }>()
  private isOver = false

  constructor(parts: Parts) {
    this.parts = parts
  }

  add({ cell, term }: Left, charge: UndecidedCharge): void {
    const name = `${cell}/${term}`
    const group = this.groups.get(name)
    if (group) return void group.charges.push(charge)
    const charges = [charge]
    const sent = this.send({ cell, term }, charges, () => this.groups.delete(name))
    this.groups.set(name, { charges, sent })
  }

  /** Waits a little longer for the owners, then logs what is left. */
  async close(): Promise<void> {
    const { sleep = Bun.sleep, log } = this.parts
    const groups = [...this.groups.values()]
    if (groups.length > 0) await Promise.race([Promise.all(groups.map(({ sent }) => sent)), sleep(LAST_TRY_MS)])
    this.isOver = true
    const ids = [...this.groups.values()].flatMap(({ charges }) => charges.map(({ call }) => call.id))
    if (ids.length > 0)
      log.error('this node ends with charges of unknown outcome, whose callers got 503', {
        count: ids.length,
        requests: ids.join(' '),
      })
  }

  /** Sends the charges of one ownership. Calls `onSent` in the same tick in which none is left. */
  private async send({ cell, term }: Left, charges: UndecidedCharge[], onSent: () => void): Promise<void> {
    const { sleep = Bun.sleep, log, messages } = this.parts
    let lastReason = ''
    // The charges of one commit are added together, in the same tick.
    await Promise.resolve()
    while (charges.length > 0) {
      if (this.isOver) return
      const some = charges.slice(0, MAX_CHARGES)
      try {
        if (!(await messages.send(cell, { kind: 'undecided_charges', term, charges: some })))
          throw new Error(`the cell ${cell} has no later owner yet`)
        charges.splice(0, some.length)
      } catch (error) {
        const reason = reasonOf(error)
        if (reason !== lastReason) log.warn('could not send undecided charges to the next owner of a cell', { reason })
        lastReason = reason
        await sleep(RETRY_MS)
      }
    }
    onSent()
  }
}

/** Reverses the charges at the next owner. Rejects while the outcome of one of them is unknown; reversals that were made remain. */
export function reverseUndecided(parts: {
  readonly ledger: { reverse(charge: UndecidedCharge): Promise<boolean> }
  readonly log: Pick<Log, 'warn'>
}) {
  return async (charges: readonly UndecidedCharge[]): Promise<void> => {
    const reversed: string[] = []
    try {
      for (const charge of charges) if (await parts.ledger.reverse(charge)) reversed.push(charge.call.id)
    } finally {
      if (reversed.length > 0)
        parts.log.warn('reversed charges whose callers got 503', {
          count: reversed.length,
          requests: reversed.join(' '),
        })
    }
  }
}
