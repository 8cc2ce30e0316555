import type { QueryClient } from '@tanstack/react-query'
import { Signal } from '../signal.ts'
import { accountQuery } from './account.ts'
import { sessionEnded } from './session-ended.ts'

const PATH = '/api/events'
const MAX_OFTEN_MS = 1_000
const FIRST_PAUSE_MS = 1_000
const MAX_PAUSE_MS = 30_000
const POLL_MS = 10_000

/** Which answers an event makes old, by the first word of their query key. */
const STALE_AFTER: Readonly<Record<string, readonly string[]>> = {
  call: ['requests', 'usage', 'keys', 'limits'],
  key: ['keys', 'social'],
  balance: ['account', 'transactions', 'billing'],
  tier: ['account', 'limits'],
  social: ['social'],
  topup: ['account', 'transactions', 'billing'],
}

/** Whether events arrive. `since` is when they stopped: what the screen shows may be older than that. */
export type Liveness = { readonly state: 'live' | 'connecting' } | { readonly state: 'cut'; readonly since: number }

export const liveness = new Signal<Liveness>({ state: 'connecting' })

/**
 * Follows `/api/events` while the page is shown, and makes old what an event says has changed, once a second at most. While
 * the events are cut it asks again by the clock; when they are back everything on the screen is asked anew. Stop it with the
 * function that it gives.
 */
export function followEvents(queries: QueryClient): () => void {
  const follower = new Follower(queries)
  const onVisibility = () => (document.hidden || sessionEnded.value ? follower.close() : follower.open())
  document.addEventListener('visibilitychange', onVisibility)
  const unfollow = sessionEnded.follow(onVisibility)
  onVisibility()
  return () => {
    document.removeEventListener('visibilitychange', onVisibility)
    unfollow()
    follower.close()
  }
}

class Follower {
  private readonly queries: QueryClient
  private source: EventSource | null = null
  private pauseMs = FIRST_PAUSE_MS
  private again: Timer | undefined
  private polling: Timer | undefined
  private flushing: Timer | undefined
  private readonly old = new Set<string>()
  private wasOpen = false

  constructor(queries: QueryClient) {
    this.queries = queries
  }

  open(): void {
    if (this.source) return
    const source = new EventSource(PATH)
    this.source = source
    source.addEventListener('open', () => this.onOpen())
    source.addEventListener('error', () => this.onCut())
    for (const name of Object.keys(STALE_AFTER))
      source.addEventListener(name, (event) => this.onEvent(name, String(event.data)))
    source.addEventListener('missed', () => void this.queries.invalidateQueries())
  }

  /** Hidden pages hold no connection: a browser has six of them per server. */
  close(): void {
    this.source?.close()
    this.source = null
    for (const timer of [this.again, this.polling, this.flushing]) clearTimeout(timer)
    this.again = this.polling = this.flushing = undefined
  }

  private onOpen(): void {
    clearInterval(this.polling)
    this.polling = undefined
    this.pauseMs = FIRST_PAUSE_MS
    liveness.set({ state: 'live' })
    // What happened between two connections was told to nobody.
    if (this.wasOpen) void this.queries.invalidateQueries()
    this.wasOpen = true
  }

  private onCut(): void {
    this.source?.close()
    this.source = null
    if (liveness.value.state !== 'cut') liveness.set({ state: 'cut', since: Date.now() })
    this.wasOpen = true
    // Tells at once when it is the session that ended.
    void this.queries.invalidateQueries({ queryKey: accountQuery.queryKey })
    this.polling ??= setInterval(() => void this.queries.invalidateQueries(), POLL_MS)
    this.again = setTimeout(() => this.open(), this.pauseMs)
    this.pauseMs = Math.min(this.pauseMs * 2, MAX_PAUSE_MS)
  }

  private onEvent(name: string, data: string): void {
    if (name === 'balance') this.showBalance(data)
    for (const key of STALE_AFTER[name] ?? []) this.old.add(key)
    if (this.flushing !== undefined) return
    this.flush()
    // Once more a second later: the row of a call that was not charged follows its event.
    for (const key of STALE_AFTER[name] ?? []) this.old.add(key)
    this.flushing = setTimeout(() => {
      this.flushing = undefined
      this.flush()
    }, MAX_OFTEN_MS)
  }

  private flush(): void {
    for (const key of this.old) void this.queries.invalidateQueries({ queryKey: [key] })
    this.old.clear()
  }

  /** The balance is shown from the event itself; the rest of the account is asked for. */
  private showBalance(data: string): void {
    const balance = balanceIn(data)
    if (balance === null) return
    this.queries.setQueryData(
      accountQuery.queryKey,
      (account) => account && { ...account, balance_micros_usd: balance as typeof account.balance_micros_usd },
    )
  }
}

type Timer = ReturnType<typeof setTimeout>

function balanceIn(data: string): number | null {
  try {
    const balance: unknown = Reflect.get(Object(JSON.parse(data)), 'balance_micros_usd')
    return typeof balance === 'number' && Number.isSafeInteger(balance) ? balance : null
  } catch {
    return null
  }
}
