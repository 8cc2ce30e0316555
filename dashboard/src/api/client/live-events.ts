import type { QueryClient } from '@tanstack/react-query'
import { sessionEnded, signingOut } from '../../session-state.ts'
import { accountQuery } from '../account/account.ts'
import { announceCall } from './live-calls.ts'
import { liveStatus } from './live-status.ts'

const PATH = '/api/events'
/** The id of the last event that this page got. It goes when the cache is cleared, as at a sign-out. */
const LAST_EVENT = ['last-event']
const FLUSH_MS = 1_000
const REST_MS = 5_000
const FIRST_RETRY_MS = 1_000
const MAX_RETRY_MS = 30_000
const POLL_MS = 10_000
/** The server pings every 15 s. A connection that is silent for longer than two pings is dead, also if the browser does not notice. */
const SILENT_MS = 35_000

/** The queries that an event invalidates, by the first part of their key. */
const INVALIDATED_BY: Readonly<Record<string, readonly string[]>> = {
  call: ['requests', 'usage', 'keys', 'limits'],
  key: ['keys', 'key-names', 'social'],
  balance: ['account', 'transactions', 'billing'],
  tier: ['account', 'limits'],
  social: ['social'],
  topup: ['account', 'transactions', 'billing'],
}

/**
 * Follows `/api/events` while the page is visible and invalidates the queries that an event affects, first at
 * once and after a second, then every five seconds while more happens. Starts
 * with what happened since the account was loaded. Polls while disconnected, and refreshes everything after reconnecting. Returns a
 * function that stops it.
 */
export function subscribeToEvents(queries: QueryClient): () => void {
  const subscription = new EventSubscription(queries)
  const onVisibility = () =>
    document.hidden || sessionEnded.value || signingOut.value ? subscription.close() : subscription.open()
  document.addEventListener('visibilitychange', onVisibility)
  window.addEventListener('offline', subscription.drop)
  window.addEventListener('online', onVisibility)
  const unsubscribes = [sessionEnded, signingOut].map((signal) => signal.subscribe(onVisibility))
  onVisibility()
  return () => {
    document.removeEventListener('visibilitychange', onVisibility)
    window.removeEventListener('offline', subscription.drop)
    window.removeEventListener('online', onVisibility)
    for (const unsubscribe of unsubscribes) unsubscribe()
    subscription.close()
  }
}

class EventSubscription {
  private readonly queries: QueryClient
  private source: EventSource | null = null
  private retryMs = FIRST_RETRY_MS
  private retryTimer: Timer | undefined
  private pollTimer: Timer | undefined
  private flushTimer: Timer | undefined
  private silenceTimer: Timer | undefined
  private readonly stale = new Set<string>()
  private wasOpen = false
  /** The connection is lost, whether or not the browser knows. */
  readonly drop = () => this.onDisconnect()

  constructor(queries: QueryClient) {
    this.queries = queries
  }

  open(): void {
    if (this.source) return
    const source = new EventSource(this.address())
    this.source = source
    source.addEventListener('open', () => this.onOpen())
    source.addEventListener('error', () => this.onDisconnect())
    for (const name of Object.keys(INVALIDATED_BY))
      source.addEventListener(name, (event) => this.onEvent(name, String(event.data)))
    source.addEventListener('missed', () => void this.queries.invalidateQueries())
    for (const name of [...Object.keys(INVALIDATED_BY), 'missed', 'ping'])
      source.addEventListener(name, (event) => {
        this.queries.setQueryData(LAST_EVENT, event.lastEventId)
        this.heard()
      })
    this.heard()
  }

  private heard(): void {
    clearTimeout(this.silenceTimer)
    this.silenceTimer = setTimeout(this.drop, SILENT_MS)
  }

  private address(): string {
    const last =
      this.queries.getQueryData<string>(LAST_EVENT) ?? this.queries.getQueryData(accountQuery.queryKey)?.events_mark
    return last ? `${PATH}?${new URLSearchParams({ after: last })}` : PATH
  }

  /** Hidden pages close their connection, because a browser allows only six per server. */
  close(): void {
    this.source?.close()
    this.source = null
    for (const timer of [this.retryTimer, this.pollTimer, this.flushTimer, this.silenceTimer]) clearTimeout(timer)
    this.retryTimer = this.pollTimer = this.flushTimer = this.silenceTimer = undefined
  }

  private onOpen(): void {
    clearInterval(this.pollTimer)
    this.pollTimer = undefined
    this.retryMs = FIRST_RETRY_MS
    liveStatus.set({ state: 'live' })
    // Events between two connections were missed.
    if (this.wasOpen) void this.queries.invalidateQueries()
    this.wasOpen = true
  }

  private onDisconnect(): void {
    if (!this.source) return
    clearTimeout(this.silenceTimer)
    this.source.close()
    this.source = null
    if (liveStatus.value.state !== 'disconnected') liveStatus.set({ state: 'disconnected', since: Date.now() })
    this.wasOpen = true
    // Shows immediately if the reason is that the session ended.
    void this.queries.invalidateQueries({ queryKey: accountQuery.queryKey })
    this.pollTimer ??= setInterval(() => void this.queries.invalidateQueries(), POLL_MS)
    this.retryTimer = setTimeout(() => this.open(), this.retryMs)
    this.retryMs = Math.min(this.retryMs * 2, MAX_RETRY_MS)
  }

  private onEvent(name: string, data: string): void {
    if (name === 'balance') this.showBalance(data)
    if (name === 'call') announceCall(data)
    for (const key of INVALIDATED_BY[name] ?? []) this.stale.add(key)
    if (this.flushTimer !== undefined) return
    this.flush()
    // Again a second later, because the row of a call that was not charged is written after its event.
    for (const key of INVALIDATED_BY[name] ?? []) this.stale.add(key)
    this.flushTimer = setTimeout(() => {
      this.flush()
      this.flushTimer = setTimeout(() => this.rested(), REST_MS)
    }, FLUSH_MS)
  }

  /** Of an account that is called all the time, the figures are read once per rest. */
  private rested(): void {
    this.flushTimer = undefined
    if (this.stale.size === 0) return
    this.flush()
    this.flushTimer = setTimeout(() => this.rested(), REST_MS)
  }

  private flush(): void {
    for (const key of this.stale) void this.queries.invalidateQueries({ queryKey: [key] })
    this.stale.clear()
  }

  /** Shows the balance from the event itself; the rest of the account is fetched. */
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
