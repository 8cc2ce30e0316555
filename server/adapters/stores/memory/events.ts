import type { LiveEvent } from '../../../core/events/live-event'
import type { LiveEvents, Watcher } from '../../../core/events/live-events'
import type { AccountId } from '../../../core/ids'

/** The maximum number of listening tabs per owner. */
export const MAX_PER_ACCOUNT = 16
const MAX_IN_ALL = 10_000
/** The maximum number of events buffered for a listener. */
export const MAX_WAITING = 64

/** Live events within one process. Several processes would need a shared bus behind the same port. */
export class MemoryEvents implements LiveEvents {
  private readonly watchers = new Map<AccountId, Set<MemoryWatcher>>()
  private total = 0

  publish(accountId: AccountId, event: LiveEvent): void {
    const watching = this.watchers.get(accountId)
    if (watching) for (const watcher of watching) watcher.push(event)
  }

  isWatched(accountId: AccountId): boolean {
    return this.watchers.has(accountId)
  }

  watch(accountId: AccountId): Watcher | null {
    const watching = this.watchers.get(accountId) ?? new Set()
    if (watching.size >= MAX_PER_ACCOUNT || this.total >= MAX_IN_ALL) return null
    const watcher = new MemoryWatcher(() => {
      watching.delete(watcher)
      this.total--
      if (watching.size === 0) this.watchers.delete(accountId)
    })
    watching.add(watcher)
    this.watchers.set(accountId, watching)
    this.total++
    return watcher
  }

  end(): void {
    for (const watching of [...this.watchers.values()]) for (const watcher of [...watching]) watcher.close()
  }
}

class MemoryWatcher implements Watcher {
  private readonly onClose: () => void
  private waiting: LiveEvent[] = []
  private missed = false
  private closed = false
  private wake: (() => void) | null = null

  constructor(onClose: () => void) {
    this.onClose = onClose
  }

  push(event: LiveEvent): void {
    if (event.type !== 'call' && this.waiting.some((other) => saysTheSame(other, event))) return
    if (this.waiting.length >= MAX_WAITING) this.missed = true
    else this.waiting.push(event)
    this.wake?.()
  }

  async take(maxMs: number): Promise<readonly LiveEvent[] | null> {
    if (this.waiting.length === 0 && !this.closed) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, maxMs)
      this.wake = resolve
      await promise
      clearTimeout(timer)
      this.wake = null
    }
    if (this.closed) return null
    const taken = this.missed ? [...this.waiting, { type: 'missed' } as const] : this.waiting
    this.waiting = []
    this.missed = false
    return taken
  }

  close(): void {
    if (this.closed) return
    this.closed = true
    this.onClose()
    this.wake?.()
  }
}

function saysTheSame(one: LiveEvent, other: LiveEvent): boolean {
  if (one.type !== other.type) return false
  if (one.type === 'key' && other.type === 'key') return one.id === other.id
  if (one.type === 'social' && other.type === 'social') return one.keyId === other.keyId
  if (one.type === 'topup' && other.type === 'topup') return one.id === other.id
  return one.type !== 'call'
}
