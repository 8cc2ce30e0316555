const FIRST_ROWS = 64
/** An id's 16 bytes as numbers. */
const WORDS = 4
const NO_ROW = 0

/**
 * Numbers from 0 on for ids such as `pool_` and 32 hexadecimal digits: 24 to 48 bytes for each, where a string in a `Map` takes a hundred. Ids are
 * never removed.
 */
export class IdRows<Id extends string> {
  private readonly prefix: string
  private readonly form: RegExp
  private count = 0
  private words = new Uint32Array(FIRST_ROWS * WORDS)
  /** For each bucket of the hash table a row plus one, or `NO_ROW`. Its length is a power of two, and at least half of them are free. */
  private buckets = new Uint32Array(FIRST_ROWS * 2)
  private readonly bytes = Buffer.alloc(WORDS * 4)
  /** The words of `bytes`. */
  private readonly sought = new Uint32Array(this.bytes.buffer, this.bytes.byteOffset, WORDS)

  constructor(prefix: string) {
    this.prefix = prefix
    this.form = new RegExp(`^${prefix}[0-9a-f]{32}$`)
  }

  rowOf(id: Id): number | null {
    if (!this.read(id)) return null
    const row = this.buckets[this.bucketOfSought()] ?? NO_ROW
    return row === NO_ROW ? null : row - 1
  }

  /** The row of an id, which is a new one for a new id. Null for an id of another form. */
  add(id: Id): number | null {
    if (!this.read(id)) return null
    if ((this.count + 1) * 2 > this.buckets.length) this.grow()
    this.read(id)
    const bucket = this.bucketOfSought()
    const row = this.buckets[bucket] ?? NO_ROW
    if (row !== NO_ROW) return row - 1
    this.words.set(this.sought, this.count * WORDS)
    this.buckets[bucket] = ++this.count
    return this.count - 1
  }

  idOf(row: number): Id {
    if (row < 0 || row >= this.count) throw new RangeError(`no row ${row}`)
    this.sought.set(this.wordsOf(row))
    return `${this.prefix}${this.bytes.toString('hex')}` as Id // of the form that `add` checked
  }

  private read(id: Id): boolean {
    return this.form.test(id) && this.bytes.write(id.slice(this.prefix.length), 'hex') === WORDS * 4
  }

  /** Where the id is that was read last, or the free bucket for it. */
  private bucketOfSought(): number {
    const last = this.buckets.length - 1
    let bucket = Bun.hash.crc32(this.bytes) & last
    for (;;) {
      const row = this.buckets[bucket] ?? NO_ROW
      if (row === NO_ROW || this.isSought(row - 1)) return bucket
      bucket = (bucket + 1) & last
    }
  }

  private isSought(row: number): boolean {
    for (let word = 0; word < WORDS; word++) if (this.words[row * WORDS + word] !== this.sought[word]) return false
    return true
  }

  private wordsOf(row: number): Uint32Array {
    return this.words.subarray(row * WORDS, (row + 1) * WORDS)
  }

  private grow(): void {
    const words = new Uint32Array(this.words.length * 2)
    words.set(this.words)
    this.words = words
    this.buckets = new Uint32Array(this.buckets.length * 2)
    for (let row = 0; row < this.count; row++) {
      this.sought.set(this.wordsOf(row))
      this.buckets[this.bucketOfSought()] = row + 1
    }
  }
}
