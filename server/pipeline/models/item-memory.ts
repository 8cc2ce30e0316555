import { type Clock, MINUTE_MS } from '../../core/clock'
import type { AccountId } from '../../core/ids'

/** How long an item can be referred to. */
export const ITEM_LIFETIME_MS = 30 * MINUTE_MS
/** The limits of one account, and of all together. */
const MAX_ACCOUNT_BYTES = 2 * 1024 * 1024
const MAX_BYTES = 64 * 1024 * 1024
/** The memory of an item besides its text. */
const ITEM_BYTES = 512
const SWEEP_MS = MINUTE_MS

interface KeptItem {
  readonly account: AccountId
  /** Null if the same id came with two contents: a reference would be ambiguous. */
  readonly json: string | null
  readonly bytes: number
  readonly at: number
}

/** The items of an account in the order in which they came, and their bytes. */
interface AccountItems {
  readonly names: Set<string>
  bytes: number
}

/**
 * The items of answered Responses calls, for a while, so that the next call can refer to them by id. In memory only, bounded per
 * account and in all; the oldest go first. An account knows only its own items.
 */
export class ItemMemory {
  private readonly clock: Clock
  /** By account and id, oldest first. */
  private readonly items = new Map<string, KeptItem>()
  private readonly accounts = new Map<AccountId, AccountItems>()
  private bytes = 0
  private sweeper: ReturnType<typeof setInterval> | null = null

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** The item as JSON; null if it is unknown, expired or ambiguous. */
  recall(account: AccountId, id: string): string | null {
    const item = this.items.get(itemKey(account, id))
    return item && !this.isExpired(item) ? item.json : null
  }

  remember(account: AccountId, id: string, json: string): void {
    this.sweep()
    const name = itemKey(account, id)
    const known = this.items.get(name)
    if (known) this.forget(name, known)
    const isAmbiguous = known !== undefined && known.json !== json
    const bytes = ITEM_BYTES + 2 * id.length + (isAmbiguous ? 0 : Buffer.byteLength(json))
    if (bytes > MAX_ACCOUNT_BYTES) return
    const own = this.accounts.get(account) ?? { names: new Set(), bytes: 0 }
    this.accounts.set(account, own)
    this.items.set(name, { account, json: isAmbiguous ? null : json, bytes, at: this.clock.now() })
    own.names.add(name)
    own.bytes += bytes
    this.bytes += bytes
    while (own.bytes > MAX_ACCOUNT_BYTES) this.forgetFirst(own.names)
    while (this.bytes > MAX_BYTES) this.forgetFirst(this.items.keys())
    this.sweeper ??= this.startSweeper()
  }

  get size(): number {
    return this.bytes
  }

  private forgetFirst(names: Iterable<string>): void {
    for (const name of names) {
      const item = this.items.get(name)
      if (item) this.forget(name, item)
      return
    }
  }

  private forget(name: string, { account, bytes }: KeptItem): void {
    this.items.delete(name)
    this.bytes -= bytes
    const own = this.accounts.get(account)
    if (!own) return
    own.names.delete(name)
    own.bytes -= bytes
    if (own.names.size === 0) this.accounts.delete(account)
  }

  private isExpired({ at }: KeptItem): boolean {
    return this.clock.now() - at >= ITEM_LIFETIME_MS
  }

  private sweep(): void {
    for (const [name, item] of this.items) {
      if (!this.isExpired(item)) return
      this.forget(name, item)
    }
  }

  /** Drops expired items without calls, until none is left. */
  private startSweeper() {
    const sweeper = setInterval(() => {
      this.sweep()
      if (this.items.size > 0) return
      clearInterval(sweeper)
      this.sweeper = null
    }, SWEEP_MS)
    sweeper.unref()
    return sweeper
  }
}

function itemKey(account: AccountId, id: string): string {
  return `${account} ${id}`
}
