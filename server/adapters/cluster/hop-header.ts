import { randomInt, timingSafeEqual } from 'node:crypto'
import { MAIN_CELL, type StaffClaim } from '../../core/cluster/cells'
import { HOP_HEADER, type HopClaim, type Hopped, type HopSigner, OPERATOR } from '../../core/cluster/hop'
import { formatAddress, parseAddress } from '../../core/credentials/address'

/** How old a header may be. */
const MAX_AGE_MS = 5_000
/** How far the clock of another node may be ahead. A node that differs by more is not ready. */
const MAX_AHEAD_MS = 1_000
/** Distinguishes these signatures from anything else that the key might sign. */
const PURPOSE = 'gateway-hop/1'
const MIN_KEY_BYTES = 32

export interface HopKey {
  readonly id: string
  readonly secret: Uint8Array
}

/** During a key change two keys are valid: every node accepts the new one before any node signs with it. */
export interface HopKeys {
  readonly signing: HopKey
  readonly accepted: readonly HopKey[]
}

/**
 * Signs what a node knows about a request that it forwards (ADR 45 decision 4): HMAC-SHA256 over method, path, cell, term, address, request id, deadline,
 * time, and the operator whom `main` authenticated. A header is valid once, for 5 s, for that request only. It proves which node forwards, not who calls:
 * the owner authenticates the caller itself.
 */
export class HopHeaders implements HopSigner {
  private hashers: ReadonlyMap<string, Bun.CryptoHasher> = new Map()
  private signing = ''
  private readonly used = new UsedOnce(MAX_AGE_MS + MAX_AHEAD_MS)
  /** Makes headers differ within the same millisecond, also between nodes. */
  private count = randomInt(2 ** 47)

  constructor(keys: HopKeys) {
    this.replaceKeys(keys)
  }

  /** How many used headers are remembered. */
  get remembered(): number {
    return this.used.size
  }

  /** Takes effect with the next request. */
  replaceKeys({ signing, accepted }: HopKeys): void {
    for (const { id, secret } of accepted)
      if (!/^[\w-]{1,32}$/.test(id) || secret.byteLength < MIN_KEY_BYTES)
        throw new Error(`the hop key "${id}" needs an id of 1 to 32 letters and digits, and ${MIN_KEY_BYTES} bytes`)
    if (!accepted.some(({ id }) => id === signing.id)) throw new Error(`the hop key "${signing.id}" is not accepted`)
    this.hashers = new Map(accepted.map(({ id, secret }) => [id, new Bun.CryptoHasher('sha256', secret)]))
    this.signing = signing.id
  }

  sign(claim: HopClaim, now: number): string {
    const { cell, deadlineMs = MAX_AGE_MS, requestId, address, staff } = claim
    this.count++
    // Hops to `main` keep the format that nodes without other cells understand.
    const term = cell === MAIN_CELL ? claim.term : `${cell}/${claim.term}`
    const operator = staff ? `;${staffText(staff)}` : ''
    const fields = `${this.signing};${term};${now};${this.count};${deadlineMs};${requestId};${address}${operator}`
    return `${fields};${this.mac(this.signing, claim.method, claim.target, fields)}`
  }

  verified(request: Request, now: number): Hopped | 'forged' | null {
    const header = request.headers.get(HOP_HEADER)
    if (header === null) return null
    const claim = CLAIM.exec(header)
    if (!claim) return 'forged'
    const [, fields = '', keyId = '', cell, term, sentAt, deadlineMs, requestId = '', address = '', staff, given = ''] =
      claim
    const age = now - Number(sentAt)
    const mac = this.mac(keyId, request.method, requestPath(request.url), fields)
    if (mac === null || !timingSafeEqual(Buffer.from(mac), Buffer.from(given))) return 'forged'
    if (age > Math.min(MAX_AGE_MS, Number(deadlineMs)) || age < -MAX_AHEAD_MS) return 'forged'
    if (!isAddress(address) || !this.used.isFirst(given, now)) return 'forged'
    const operator = staff === undefined ? null : { staff: staffIn(staff) }
    return { cell: cell ?? MAIN_CELL, term: Number(term), address, requestId, ...operator }
  }

  /** In hex; null for a key that is not accepted. No field contains a line break, so the text cannot match a different request. */
  private mac(keyId: string, method: string, path: string, fields: string): string | null {
    return this.hashers.get(keyId)?.copy().update(`${PURPOSE}\n${method}\n${path}\n${fields}`).digest('hex') ?? null
  }
}

/** Key, cell unless it is `main`, term, time, count, deadline, request id, address, operator; then their signature. */
const CLAIM =
  /^(([\w-]{1,32});(?:([a-z][a-z0-9-]{0,31})\/)?(\d{1,15});(\d{1,15});\d{1,16};(\d{1,9});([\w-]{1,64});([0-9a-f.:]{2,45}|unknown|operator)(?:;([\w-]{1,8000}))?);([0-9a-f]{64})$/

/** An operator's claim as nodes write it into a header. */
export function staffText(staff: StaffClaim): string {
  return Buffer.from(JSON.stringify(staff)).toString('base64url')
}

/** The claim in a header that is known to come from a node. */
export function staffIn(text: string): StaffClaim {
  return JSON.parse(Buffer.from(text, 'base64url').toString())
}

function isAddress(text: string): boolean {
  if (text === 'unknown' || text === OPERATOR) return true
  const address = parseAddress(text)
  return address !== null && formatAddress(address) === text
}

/** The path and query of a request's URL, without the fragment. Bun's URL is a bare path if the `Host` is not usable. */
export function requestPath(url: string): string {
  const from = url.startsWith('/') ? 0 : url.indexOf('/', url.indexOf('://') + 3)
  const end = url.indexOf('#')
  return from < 0 ? '/' : url.slice(from, end < 0 ? undefined : end)
}

/** Remembers used names for the given time, and at most twice as long. */
class UsedOnce {
  private readonly withinMs: number
  private recent = new Set<string>()
  private older = new Set<string>()
  private since = 0

  constructor(withinMs: number) {
    this.withinMs = withinMs
  }

  get size(): number {
    return this.recent.size + this.older.size
  }

  isFirst(name: string, now: number): boolean {
    // Also counts time after the clock was set back.
    const passed = Math.abs(now - this.since)
    if (passed > this.withinMs) {
      this.older = passed > 2 * this.withinMs ? new Set() : this.recent
      this.recent = new Set()
      this.since = now
    }
    if (this.recent.has(name) || this.older.has(name)) return false
    this.recent.add(name)
    return true
  }
}
