import type { KeyId } from '../../../../core/ids'
import type { CallRecord } from '../../../../core/usage/call-record'
import type { Group } from '../journal/group-statements'

/** The maximum number of waiting notes. Further ones are dropped and counted (spec-answers 4). */
const MAX_NOTES = 10_000

/** Written with the next commit on a best-effort basis: calls that moved no money, and when keys were last used. */
export class BestEffortWrites {
  private notes: CallRecord[] = []
  private readonly used = new Map<KeyId, number>()
  dropped = 0

  get waiting(): number {
    return this.notes.length + this.used.size
  }

  note(call: CallRecord): void {
    if (this.notes.length < MAX_NOTES) this.notes.push(call)
    else this.dropped++
  }

  touch(key: KeyId, at: number): void {
    this.used.set(key, at)
  }

  /** Removes and returns at most `max` notes, and all last uses. */
  take(max: number): Pick<Group, 'notes' | 'lastUsed'> {
    const lastUsed = [...this.used]
    this.used.clear()
    return { notes: this.notes.splice(0, max), lastUsed }
  }
}
