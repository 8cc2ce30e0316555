import { IdRows } from './id-rows'

/** How counters are packed into numbers while they are not in use. */
interface Form<T> {
  /** How many numbers. */
  readonly width: number
  /** Writes them, or returns false: these counters must stay an object. */
  write(counters: T, into: Float64Array): boolean
  read(from: Float64Array): T
}

/** So many become objects before those that can rest are put to rest again. */
const MAX_AWAKE = 8192
const FIRST_ROWS = 64

/**
 * Counters by their id: an object for each that was used lately, and some numbers in an array for the others. Of 100,000 keys
 * few are in use, and an object with its id takes four times the memory.
 *
 * An object is only valid until `rest` runs, so call that before you get one, never between.
 */
export class RestingCounters<Id extends string, T> {
  private readonly form: Form<T>
  private readonly awake = new Map<Id, T>()
  private readonly rows: IdRows<Id>
  private readonly maxAwake: number
  private woken = 0
  private numbers: Float64Array

  constructor(prefix: string, form: Form<T>, maxAwake = MAX_AWAKE) {
    this.form = form
    this.rows = new IdRows(prefix)
    this.maxAwake = maxAwake
    this.numbers = new Float64Array(FIRST_ROWS * form.width)
  }

  /** The counters, to be read and changed in place. */
  get(id: Id): T | undefined {
    return this.awake.get(id) ?? this.wake(id)
  }

  set(id: Id, counters: T): void {
    if (this.putToRest(id, counters)) this.awake.delete(id)
    else this.awake.set(id, counters)
  }

  /** Puts those to rest that can, if many became objects since the last time. */
  rest(): void {
    if (this.woken <= this.maxAwake) return
    this.woken = 0
    for (const [id, counters] of this.awake) if (this.putToRest(id, counters)) this.awake.delete(id)
  }

  private wake(id: Id): T | undefined {
    const row = this.rows.rowOf(id)
    if (row === null) return undefined
    const counters = this.form.read(this.numbersOf(row))
    this.awake.set(id, counters)
    this.woken++
    return counters
  }

  private putToRest(id: Id, counters: T): boolean {
    const row = this.rows.rowOf(id)
    // A first row is not taken before it is known that it can be written.
    if (row !== null) return this.form.write(counters, this.numbersOf(row))
    const numbers = new Float64Array(this.form.width)
    if (!this.form.write(counters, numbers)) return false
    const added = this.rows.add(id)
    if (added === null) return false
    if ((added + 1) * this.form.width > this.numbers.length) {
      const larger = new Float64Array(this.numbers.length * 2)
      larger.set(this.numbers)
      this.numbers = larger
    }
    this.numbersOf(added).set(numbers)
    return true
  }

  private numbersOf(row: number): Float64Array {
    return this.numbers.subarray(row * this.form.width, (row + 1) * this.form.width)
  }
}
