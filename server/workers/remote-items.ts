import type { AuthenticatedCall } from '../pipeline/call'
import type { Items, ItemText } from '../pipeline/models/item-references'
import { isKnown, type Primary } from './remote-allowance'

/** One request names at most so many items, and one message gives at most so many: it takes the primary a moment. */
const MAX_IDS = 100
const MAX_ITEMS = 500

/** The items of the primary: the next call of an account may be another worker's. */
export class RemoteItems implements Items {
  private readonly primary: Primary

  constructor(primary: Primary) {
    this.primary = primary
  }

  async recall(call: AuthenticatedCall, ids: readonly string[]): Promise<ReadonlyMap<string, string> | null> {
    const found = new Map<string, string>()
    for (let at = 0; at < ids.length; at += MAX_IDS) {
      const asked = [call.incoming.id, ids.slice(at, at + MAX_IDS)]
      const answer = isKnown(this.primary, call) ? await this.primary.ask('recall', asked) : null
      if (answer === null) return null
      for (const [id, json] of answer as readonly ItemText[]) found.set(id, json)
    }
    return found
  }

  /** Sent before the capture of the call, which ends it. */
  remember(call: AuthenticatedCall, items: readonly ItemText[]): void {
    if (!isKnown(this.primary, call)) return
    for (let at = 0; at < items.length; at += MAX_ITEMS)
      this.primary.tell('items', [call.incoming.id, items.slice(at, at + MAX_ITEMS)])
  }
}

/** The ids that a worker asks for; null if they cannot be read. */
export function readIds(value: unknown): readonly string[] | null {
  return Array.isArray(value) && value.length <= MAX_IDS && value.every((id) => typeof id === 'string') ? value : null
}

/** The items that a worker gives; null if they cannot be read. */
export function readItems(value: unknown): readonly ItemText[] | null {
  const isItem = (one: unknown) => Array.isArray(one) && typeof one[0] === 'string' && typeof one[1] === 'string'
  return Array.isArray(value) && value.length <= MAX_ITEMS && value.every(isItem)
    ? (value as readonly ItemText[])
    : null
}
