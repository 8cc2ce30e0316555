/** Why a holder gets no slot: all are taken, or it has its share. */
export type NoSlot = 'full' | 'own_share'

/** An account holds at most this many times the concurrency of its tier, which is per key, of what all accounts share. */
export const TIMES_THE_TIER = 2

interface Held {
  all: number
  readonly by: Map<string, number>
}

/**
 * Counts what accounts hold of resources that all of them share, such as the slots of an upstream, in this process. One holder gets at
 * most half of a resource (at least 1), so whatever it does, the other half is for others. Memory is bounded by what is held.
 */
export class Shares {
  private readonly resources = new Map<string, Held>()

  /** Takes one of `slots`, of which the holder may have at most `own`, or says why not. Atomic. Give it back once. */
  take(resource: string, holder: string, slots: number, own = Number.POSITIVE_INFINITY): NoSlot | null {
    const held = this.resources.get(resource)
    if ((held?.all ?? 0) >= slots) return 'full'
    const half = Math.max(1, Math.floor(slots / 2))
    if (held && (held.by.get(holder) ?? 0) >= Math.min(own, half)) return 'own_share'
    this.add(resource, holder)
    return null
  }

  /** Counts one more, also above every bound: for work that goes on and cannot be refused. */
  add(resource: string, holder: string): void {
    const held = this.resources.get(resource) ?? { all: 0, by: new Map<string, number>() }
    held.all++
    held.by.set(holder, (held.by.get(holder) ?? 0) + 1)
    if (held.all === 1) this.resources.set(resource, held)
  }

  /** Ignored if the holder has none. */
  giveBack(resource: string, holder: string): void {
    const held = this.resources.get(resource)
    const own = held?.by.get(holder) ?? 0
    if (!held || own === 0) return
    held.all--
    if (own > 1) held.by.set(holder, own - 1)
    else held.by.delete(holder)
    if (held.all === 0) this.resources.delete(resource)
  }

  /** How many are held, by all. */
  held(resource: string): number {
    return this.resources.get(resource)?.all ?? 0
  }

  heldBy(resource: string, holder: string): number {
    return this.resources.get(resource)?.by.get(holder) ?? 0
  }

  /** Whether a resource that takes no more than `max` is full, and this holder has at least an equal part of it. */
  isOver(resource: string, holder: string, max: number): boolean {
    const held = this.resources.get(resource)
    if (!held || held.all < max) return false
    return (held.by.get(holder) ?? 0) * held.by.size >= max
  }
}
