import { type ApiKey, KEY_DEFAULTS } from '../../../core/credentials/api-key'
import type { AccountId, KeyId, PoolId } from '../../../core/ids'

type Texts = 'hash' | 'id' | 'accountId' | 'poolId' | 'prefix' | 'last4' | 'name'
type Rest = Omit<ApiKey, Texts | 'createdAt'>

const NOTHING_SET: Rest = Object.freeze({
  ...KEY_DEFAULTS,
  createdBy: null,
  disabledAt: null,
  revokedAt: null,
  stopsAt: null,
  replaces: null,
  replacedBy: null,
  endpointsAt: null,
  allowlist: null,
})

/** So many keys in use are kept as they were read. */
const MAX_READ = 1024

const FIRST_ROWS = 1024
const FIRST_BYTES = FIRST_ROWS * 128

/** The hash and the ids of a key as the gateway makes them: nearly all of them are hexadecimal and take half the room as bytes. */
const HEXADECIMAL = /^([0-9a-f]{64})\nkey_([0-9a-f]{32})\nacct_([0-9a-f]{32})\npool_([0-9a-f]{32})$/
const HEX_BYTES = 32 + 3 * 16
/** The first byte of a row: what follows is bytes and texts, or texts only. */
const [BYTES, TEXTS] = [0, 1]

/**
 * All keys by their hash, in a few large arrays: as objects with strings of their own, a key takes three times the memory. Settings
 * that most keys leave unset are kept only for those that set them.
 */
export class KeyTable {
  /** For each bucket of the hash table a row plus one, or 0. Always a power of two, at least half of them 0. */
  private buckets = new Uint32Array(FIRST_ROWS * 2)
  private rows = 0
  /** Where the content of a row is. */
  private starts = new Float64Array(FIRST_ROWS)
  private ends = new Float64Array(FIRST_ROWS)
  private createdAt = new Float64Array(FIRST_ROWS)
  private content = Buffer.alloc(FIRST_BYTES)
  private used = 0
  private readonly rest = new Map<number, Rest>()
  private readonly lastRead = new Map<string, ApiKey>()

  /** The columns of all rows, without rare settings. */
  get bytes(): number {
    const arrays = [this.buckets, this.starts, this.ends, this.createdAt, this.content]
    return arrays.reduce((sum, { byteLength }) => sum + byteLength, 0)
  }

  get(hash: string): ApiKey | null {
    const known = this.lastRead.get(hash)
    if (known) return known
    const row = this.rowAt(this.bucketOf(hash))
    if (row === null) return null
    if (this.lastRead.size === MAX_READ) this.lastRead.clear()
    const key = this.read(row)
    this.lastRead.set(hash, key)
    return key
  }

  set(key: ApiKey): void {
    const { hash, id, accountId, poolId, prefix, last4, name, createdAt, ...rest } = key
    this.lastRead.delete(hash)
    if ((this.rows + 1) * 2 > this.buckets.length) this.grow()
    const bucket = this.bucketOf(hash)
    const row = this.rowAt(bucket) ?? this.added(bucket)
    this.write(row, [hash, id, accountId, poolId].join('\n'), [prefix, last4, name].join('\n'))
    this.createdAt[row] = createdAt
    const unset = Object.values(rest).every((value) => value === null || (Array.isArray(value) && value.length === 0))
    if (unset) this.rest.delete(row)
    else this.rest.set(row, rest)
  }

  private read(row: number): ApiKey {
    // Only the name, which is last, may contain line feeds.
    const [hash = '', id, accountId, poolId, prefix = '', last4 = '', ...name] = this.textOf(row).split('\n')
    return {
      id: id as KeyId, // written by `set`, as the other ids
      accountId: accountId as AccountId,
      poolId: poolId as PoolId,
      hash,
      prefix,
      last4,
      name: name.join('\n'),
      createdAt: this.createdAt[row] ?? 0,
      ...(this.rest.get(row) ?? NOTHING_SET),
    }
  }

  /** The bucket of the key with this hash, or the free bucket for it. */
  private bucketOf(hash: string): number {
    const last = this.buckets.length - 1
    let bucket = Bun.hash.crc32(hash) & last
    for (;;) {
      const row = this.rowAt(bucket)
      if (row === null || this.hashOf(row) === hash) return bucket
      bucket = (bucket + 1) & last
    }
  }

  private rowAt(bucket: number): number | null {
    const row = this.buckets[bucket] ?? 0
    return row === 0 ? null : row - 1
  }

  private added(bucket: number): number {
    this.buckets[bucket] = ++this.rows
    return this.rows - 1
  }

  private hashOf(row: number): string {
    const start = (this.starts[row] ?? 0) + 1
    if (this.content[start - 1] === BYTES) return this.content.toString('hex', start, start + 32)
    return this.content.toString('utf8', start, this.content.indexOf('\n', start))
  }

  private textOf(row: number): string {
    const [start, end] = [(this.starts[row] ?? 0) + 1, this.ends[row]]
    if (this.content[start - 1] === TEXTS) return this.content.toString('utf8', start, end)
    const hex = this.content.toString('hex', start, start + HEX_BYTES)
    const [id, account, pool] = [hex.slice(64, 96), hex.slice(96, 128), hex.slice(128)]
    const texts = this.content.toString('utf8', start + HEX_BYTES, end)
    return `${hex.slice(0, 64)}\nkey_${id}\nacct_${account}\npool_${pool}\n${texts}`
  }

  /** Writes behind all content, unless nothing changed. Replaced content is dropped when the room ends. */
  private write(row: number, head: string, texts: string): void {
    if (this.starts[row] !== this.ends[row] && this.textOf(row) === `${head}\n${texts}`) return
    const hex = HEXADECIMAL.exec(head)?.slice(1).join('')
    const text = hex === undefined ? `${head}\n${texts}` : texts
    const bytes = 1 + (hex === undefined ? 0 : HEX_BYTES) + Buffer.byteLength(text)
    this.starts[row] = this.ends[row] = 0
    if (this.used + bytes > this.content.length) this.makeRoom(bytes)
    this.starts[row] = this.used
    this.content[this.used++] = hex === undefined ? TEXTS : BYTES
    if (hex !== undefined) this.used += this.content.write(hex, this.used, 'hex')
    this.used += this.content.write(text, this.used)
    this.ends[row] = this.used
  }

  private makeRoom(bytes: number): void {
    let live = bytes
    for (let row = 0; row < this.rows; row++) live += (this.ends[row] ?? 0) - (this.starts[row] ?? 0)
    const content = Buffer.alloc(Math.max(FIRST_BYTES, Math.ceil(live * 1.25)))
    let used = 0
    for (let row = 0; row < this.rows; row++) {
      const length = this.content.copy(content, used, this.starts[row], this.ends[row])
      this.starts[row] = used
      used += length
      this.ends[row] = used
    }
    this.content = content
    this.used = used
  }

  private grow(): void {
    const room = this.buckets.length
    this.starts = larger(this.starts, room)
    this.ends = larger(this.ends, room)
    this.createdAt = larger(this.createdAt, room)
    this.buckets = new Uint32Array(room * 2)
    for (let row = 0; row < this.rows; row++) this.buckets[this.bucketOf(this.hashOf(row))] = row + 1
  }
}

function larger(array: Float64Array<ArrayBuffer>, length: number): Float64Array<ArrayBuffer> {
  const copy = new Float64Array(length)
  copy.set(array)
  return copy
}
