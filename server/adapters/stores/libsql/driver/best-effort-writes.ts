import type { KeyId } from '../../../../core/ids'
import type { CallRecord } from '../../../../core/usage/call-record'
import type { Group } from '../journal/group-statements'

/** Most notes that wait; beyond that they are dropped and counted (spec-answers 4). */
const MAX_NOTES = 10_000

/** What goes along with the next commit, best effort: calls that moved no money, and when keys were last used. */
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

  /** At most that many notes, and all uses. */
  take(max: number): Pick<Group, 'notes' | 'lastUsed'> {
    const lastUsed = [...this.used]
    this.used.clear()
    return { notes: this.notes.splice(0, max), lastUsed }
  }
}
