import type { LiveEvent } from '../../../core/events/live-event'
import type { LiveEvents, Watcher } from '../../../core/events/live-events'
import type { AccountId } from '../../../core/ids'

/** The maximum number of listening tabs per owner. */
export const MAX_PER_ACCOUNT = 16
const MAX_IN_ALL = 10_000
/** The maximum number of events buffered for a listener. */
export const MAX_WAITING = 64
/** How many of an account's latest events can be sent to a listener that starts from a mark. */
export const MAX_KEPT = 16
/** The maximum number of accounts whose events are kept without a listener. */
export const MAX_UNWATCHED = 500

/** Live events within one process. Several processes would need a shared bus behind the same port. */
export class MemoryEvents implements LiveEvents {
  private readonly feeds = new Map<AccountId, Feed>()
  /** Accounts that have a feed but no listener, the one that was used longest ago first. */
  private readonly unwatched = new Set<AccountId>()
  private total = 0

  publish(accountId: AccountId, event: LiveEvent): void {
    this.feeds.get(accountId)?.publish(event)
  }

  isFollowed(accountId: AccountId): boolean {
    return this.feeds.has(accountId)
  }

  mark(accountId: AccountId): string {
    const feed = this.feed(accountId)
    if (feed.watchers.size === 0) this.keepUnwatched(accountId)
    return feed.mark
  }

  watch(accountId: AccountId, since?: string): Watcher | null {
    if (this.total >= MAX_IN_ALL) return null
    const feed = this.feed(accountId)
    const { watchers } = feed
    if (watchers.size >= MAX_PER_ACCOUNT) return null
    const watcher = new MemoryWatcher(feed, since, () => {
      watchers.delete(watcher)
      this.total--
      if (watchers.size === 0) this.keepUnwatched(accountId)
    })
    watchers.add(watcher)
    this.unwatched.delete(accountId)
    this.total++
    return watcher
  }

  end(): void {
    for (const { watchers } of [...this.feeds.values()]) for (const watcher of [...watchers]) watcher.close()
  }

  private feed(accountId: AccountId): Feed {
    const feed = this.feeds.get(accountId) ?? new Feed()
    this.feeds.set(accountId, feed)
    return feed
  }

  private keepUnwatched(accountId: AccountId): void {
    this.unwatched.delete(accountId)
    this.unwatched.add(accountId)
    if (this.unwatched.size <= MAX_UNWATCHED) return
    const [oldest] = this.unwatched
    if (oldest === undefined) return
    this.unwatched.delete(oldest)
    this.feeds.delete(oldest)
  }
}

/** The events of an account: its listeners, and the latest events. */
class Feed {
  readonly watchers = new Set<MemoryWatcher>()
  /** A feed that was dropped and began anew has another id, so that marks of the old one are not mistaken for its own. */
  private readonly id = crypto.randomUUID()
  private count = 0
  private readonly latest: LiveEvent[] = []

  get mark(): string {
    return `${this.id}.${this.count}`
  }

  publish(event: LiveEvent): void {
    // Only for the sessions that listen now.
    if (event.type !== 'session') {
      this.count++
      this.latest.push(event)
      if (this.latest.length > MAX_KEPT) this.latest.shift()
    }
    for (const watcher of this.watchers) watcher.push(event)
  }

  /** The events since a mark, or null if they are no longer known. */
  since(mark: string): readonly LiveEvent[] | null {
    const [id, at] = mark.split('.')
    const missing = this.count - Number(at)
    const isKnown = id === this.id && missing >= 0 && missing <= this.latest.length
    return isKnown ? this.latest.slice(this.latest.length - missing) : null
  }
}

class MemoryWatcher implements Watcher {
  mark: string
  private readonly feed: Feed
  private readonly onClose: () => void
  private waiting: LiveEvent[] = []
  private missed = false
  private closed = false
  private wake: (() => void) | null = null

  constructor(feed: Feed, since: string | undefined, onClose: () => void) {
    this.feed = feed
    this.onClose = onClose
    this.mark = feed.mark
    if (since === undefined) return
    const events = feed.since(since)
    this.missed = events === null
    if (events === null) return
    this.mark = since
    for (const event of events) this.push(event)
  }

  push(event: LiveEvent): void {
    if (event.type !== 'call' && this.waiting.some((other) => saysTheSame(other, event))) return
    if (this.waiting.length >= MAX_WAITING) this.missed = true
    else this.waiting.push(event)
    this.wake?.()
  }

  async take(maxMs: number): Promise<readonly LiveEvent[] | null> {
    if (this.waiting.length === 0 && !this.missed && !this.closed) {
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
    this.mark = this.feed.mark
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
