import type { CellMessages } from '../../core/cluster/cell-messages'
import type { CellName } from '../../core/cluster/cells'
import type { UndecidedCharge } from '../../core/ledger/ledger'
import { reasonOf } from '../../core/result'
import type { Log } from '../../log'

const RETRY_MS = 1_000
/** A node that ends tries so long to find the owner. */
const LAST_TRY_MS = 3_000
/** In one message. */
const MAX_CHARGES = 50

interface Left {
  readonly cell: CellName
  /** The number of the ownership under which they were left. */
  readonly term: number
}

interface Parts {
  readonly messages: CellMessages
  readonly log: Pick<Log, 'warn' | 'error'>
  /** For tests. */
  readonly sleep?: (ms: number) => Promise<void>
}

/**
 * The charges that gateways of this node left undecided when they lost their database. Their callers got 503, so the next owner of the cell gives
 * back those that were written. This node tells it until it has; if the process dies before, the log has their ids.
 */
export class UndecidedCharges {
  private readonly parts: Parts
  private readonly waiting: { readonly left: Left; readonly charge: UndecidedCharge }[] = []
  private sending: Promise<void> | null = null
  private isOver = false

  constructor(parts: Parts) {
    this.parts = parts
  }

  add(left: Left, charge: UndecidedCharge): void {
    this.waiting.push({ left, charge })
    this.sending ??= this.send().finally(() => (this.sending = null))
  }

  /** Waits for the owners a little longer, then names in the log what is left. */
  async close(): Promise<void> {
    const { sleep = Bun.sleep, log } = this.parts
    if (this.sending !== null) await Promise.race([this.sending, sleep(LAST_TRY_MS)])
    this.isOver = true
    const ids = this.waiting.map(({ charge }) => charge.call.id)
    if (ids.length > 0)
      log.error('charges of unknown outcome are left, whose callers got 503', {
        count: ids.length,
        requests: ids.join(' '),
      })
  }

  private async send(): Promise<void> {
    const { sleep = Bun.sleep, log } = this.parts
    let told = ''
    for (;;) {
      // Those of one commit are left together.
      await Promise.resolve()
      const [first] = this.waiting
      if (!first || this.isOver) return
      try {
        await this.sendGroup(first.left)
      } catch (error) {
        const reason = reasonOf(error)
        if (reason !== told) log.warn('the next owner of a cell could not be told of undecided charges', { reason })
        told = reason
        await sleep(RETRY_MS)
      }
    }
  }

  private async sendGroup({ cell, term }: Left): Promise<void> {
    const isOfGroup = ({ left }: { readonly left: Left }) => left.cell === cell && left.term === term
    const group = this.waiting.filter(isOfGroup).slice(0, MAX_CHARGES)
    const charges = group.map(({ charge }) => charge)
    if (!(await this.parts.messages.tell(cell, { kind: 'undecided_charges', term, charges })))
      throw new Error(`the cell ${cell} has no later owner yet`)
    const sent = new Set(charges)
    const rest = this.waiting.filter(({ charge }) => !sent.has(charge))
    this.waiting.splice(0, this.waiting.length, ...rest)
  }
}

/** What the next owner does about them. Rejects while it does not know the outcome of one of them; what it gave back stays so. */
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
        parts.log.warn('charges were reversed whose callers got 503', {
          count: reversed.length,
          requests: reversed.join(' '),
        })
    }
  }
}
