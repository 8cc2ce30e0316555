import type { KeyId } from '../../../../core/ids'
import type { CallRecord } from '../../../../core/usage/call-record'
import { groupSize, MAX_GROUP_BYTES } from '../journal/group-size'
import type { Group } from '../journal/group-statements'
import { RepeatedCalls } from './repeated-calls'

/** The maximum number of waiting notes. Further ones are dropped and counted (spec D4). */
const MAX_NOTES = 10_000

/** A note, and its size as JSON. */
interface Sized {
  readonly call: CallRecord
  readonly bytes: number
}

/** Written with the next commit on a best-effort basis: calls that moved no money, and when keys were last used. */
export class BestEffortWrites {
  private notes: Sized[] = []
  private readonly repeated = new RepeatedCalls()
  private readonly used = new Map<KeyId, number>()
  dropped = 0

  get waiting(): number {
    return this.notes.length + this.repeated.waiting + this.used.size
  }

  note(call: CallRecord): void {
    if (this.repeated.counts(call)) return
    if (this.notes.length < MAX_NOTES) this.notes.push({ call, bytes: Buffer.byteLength(JSON.stringify(call)) })
    else this.dropped++
  }

  touch(key: KeyId, at: number): void {
    this.used.set(key, at)
  }

  /** Removes and returns the notes that fit into a group with others, at most `max`, and all last uses. `room`: in bytes. */
  take(max: number, room = MAX_GROUP_BYTES): Pick<Group, 'notes' | 'lastUsed'> {
    const lastUsed = [...this.used]
    this.used.clear()
    const size = room <= 0 ? 0 : groupSize(this.notes, ({ bytes }) => bytes, max, room)
    const notes = this.notes.splice(0, size).map(({ call }) => call)
    // Their first calls must have their rows, or get them in the same group.
    const repeats = this.notes.length === 0 ? this.repeated.take(max - size) : []
    return { notes: [...notes, ...repeats], lastUsed }
  }
}
