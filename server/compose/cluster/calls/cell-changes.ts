import type { Forwarding } from '../../../core/cluster/hop'
import { type CellOwner, HELD_MS, LEASE_MS, type LeaseStore } from '../../../core/cluster/leases'
import { reasonOf } from '../../../core/result'
import type { Log } from '../../../log'
import { commandCall, commandRequest } from './cell-calls'

/** How long an owner may take to apply a change before its lease is revoked. */
const PATIENCE_MS = 10_000
const ANSWER_MS = 5_000
const RETRY_MS = 250

interface CellChangesParts {
  readonly nodeId: string
  readonly leases: Pick<LeaseStore, 'look' | 'evict'>
  readonly forwarding: Pick<Forwarding, 'forward'>
  readonly log: Pick<Log, 'error'>
  readonly now: () => number
  readonly monotonic: () => number
  /** For tests. */
  readonly sleep?: (ms: number) => Promise<unknown>
}

/** Makes sure that no gateway keeps serving with outdated copies of the control database. */
export class CellChanges {
  private readonly parts: CellChangesParts

  constructor(parts: CellChangesParts) {
    this.parts = parts
  }

  /**
   * Runs a command in the gateways of all other nodes. Resolves when each has run it or no longer serves: an owner that does not answer loses its lease
   * within 30 s. A node that takes a cell after the call reads the new data. Never rejects.
   */
  async notifyOtherNodes(command: string): Promise<void> {
    const owners = await this.owners()
    const elsewhere = owners.filter(({ nodeId }) => nodeId !== this.parts.nodeId)
    await Promise.all(elsewhere.map((owner) => this.notify(owner, command)))
  }

  private async notify(owner: CellOwner, command: string): Promise<void> {
    const { leases, log, monotonic } = this.parts
    const until = monotonic() + PATIENCE_MS
    let problem = await this.problemOf(owner, command)
    while (problem !== null && monotonic() < until) {
      await this.pause(RETRY_MS)
      if (!(await this.stillOwns(owner))) return
      problem = await this.problemOf(owner, command)
    }
    if (problem === null) return
    const { cell, url } = owner
    log.error('the owner of a cell did not apply a change in time; its lease is revoked', {
      cell,
      url,
      reason: problem,
    })
    await leases.evict(owner).catch(() => undefined)
    const end = monotonic() + LEASE_MS
    while (monotonic() < end && (await this.stillOwns(owner))) await this.pause(RETRY_MS)
  }

  /** Why the owner did not run the command; null if it did. */
  private async problemOf(owner: CellOwner, command: string): Promise<string | null> {
    const { forwarding, now } = this.parts
    try {
      const request = commandRequest('hop', command, '', AbortSignal.timeout(ANSWER_MS))
      const answer = await forwarding.forward(request, owner, commandCall(now()))
      await answer.body?.cancel()
      return answer.ok ? null : `status ${answer.status}`
    } catch (error) {
      return reasonOf(error)
    }
  }

  private async stillOwns({ cell, nodeId, term }: CellOwner): Promise<boolean> {
    const owner = (await this.owners()).find((each) => each.cell === cell)
    return owner?.nodeId === nodeId && owner.term === term
  }

  /** All owners. None if the database does not answer for as long as a lease is trusted. */
  private async owners(): Promise<readonly CellOwner[]> {
    const { leases, monotonic } = this.parts
    const until = monotonic() + HELD_MS
    for (;;)
      try {
        return [...(await leases.look()).owners.values()]
      } catch {
        if (monotonic() > until) return []
        await this.pause(RETRY_MS)
      }
  }

  private async pause(ms: number): Promise<void> {
    await (this.parts.sleep ?? Bun.sleep)(ms)
  }
}
