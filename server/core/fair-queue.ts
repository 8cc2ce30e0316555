/** Queue limits: per caller and in total. */
export interface QueueBounds {
  readonly perCaller: number
  readonly inAll: number
}

/** A rejected item, and which of the two limits rejected it. */
export interface Displaced<T> {
  readonly item: T
  readonly by: keyof QueueBounds
}

/**
 * A fair queue: callers take turns (round robin), and each caller's items are served first in, first out. So
 * while a caller waits, every other caller is served at most once before it, however many items it has.
 */
export class FairQueue<T extends object> {
  private readonly bounds: QueueBounds
  /** By caller; the next turn is first. No line is empty. */
  private readonly lines = new Map<string, Set<T>>()
  private waiting = 0

  constructor(bounds: QueueBounds) {
    this.bounds = bounds
  }

  get size(): number {
    return this.waiting
  }

  /**
   * Adds an item at the end of its caller's line. If the queue is full, the last item of the longest line is dropped, unless the caller's
   * own line is as long. Returns the dropped item, which may be the new one.
   */
  add(caller: string, item: T): Displaced<T> | null {
    const { perCaller, inAll } = this.bounds
    const own = this.lines.get(caller)?.size ?? 0
    if (own >= perCaller) return { item, by: 'perCaller' }
    const crowded = this.waiting >= inAll ? this.lastOfLinesOver(own + 1) : null
    if (this.waiting >= inAll && !crowded) return { item, by: 'inAll' }
    if (crowded) this.remove(crowded.caller, crowded.item)
    const line = this.lines.get(caller) ?? new Set()
    this.lines.set(caller, line.add(item))
    this.waiting++
    return crowded && { item: crowded.item, by: 'inAll' }
  }

  /** Removes and returns the next item; null when the queue is empty. */
  take(): T | null {
    for (const [caller, line] of this.lines) {
      for (const item of line) {
        this.remove(caller, item)
        if (line.size > 0) {
          // To the end: it is every other caller's turn first.
          this.lines.delete(caller)
          this.lines.set(caller, line)
        }
        return item
      }
    }
    return null
  }

  /** Removes an item before its turn, if it is still waiting. */
  remove(caller: string, item: T): void {
    const line = this.lines.get(caller)
    if (!line?.delete(item)) return
    this.waiting--
    if (line.size === 0) this.lines.delete(caller)
  }

  /** The last item of the longest line, if that is longer than `length`. */
  private lastOfLinesOver(length: number): { readonly caller: string; readonly item: T } | null {
    let longest: { readonly caller: string; readonly line: Set<T> } | null = null
    for (const [caller, line] of this.lines) if (line.size > (longest?.line.size ?? length)) longest = { caller, line }
    const item = longest && [...longest.line].at(-1)
    return longest && item ? { caller: longest.caller, item } : null
  }
}
