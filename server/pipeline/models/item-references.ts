import { type Failure, failure } from '../../core/failure'
import { elementsOf, isJson, parsedJson } from '../../core/json'
import { err, ok, type Result } from '../../core/result'
import type { AuthenticatedCall } from '../call'
import { accountOf } from '../record-call'
import type { ItemMemory } from './item-memory'
import { listElements } from './wires/json/json-members'
import { readableJson } from './wires/json/readable-json'
import type { ModelRequest } from './wires/model-request'
import { eventJson } from './wires/sse-events'

const MAX_ID_CHARACTERS = 200

/** The id of an item of an answer, and the item as JSON. */
export type ItemText = readonly [id: string, json: string]

/** What later calls of an account may refer to. */
export interface Items {
  /** Those of these ids that are known; null: it cannot be told now. */
  recall(
    call: AuthenticatedCall,
    ids: readonly string[],
  ): ReadonlyMap<string, string> | Promise<ReadonlyMap<string, string> | null>
  /** Call it before the charge of the call. */
  remember(call: AuthenticatedCall, items: readonly ItemText[]): void
}

/** The items in the memory of this process. */
export class LocalItems implements Items {
  private readonly memory: ItemMemory

  constructor(memory: ItemMemory) {
    this.memory = memory
  }

  recall(call: AuthenticatedCall, ids: readonly string[]): ReadonlyMap<string, string> {
    const account = accountOf(call)
    const all = ids.map((id): [string, string | null] => [id, this.memory.recall(account, id)])
    return new Map(all.filter((item): item is [string, string] => item[1] !== null))
  }

  remember(call: AuthenticatedCall, items: readonly ItemText[]): void {
    const account = accountOf(call)
    for (const [id, json] of items)
      if (id !== '' && id.length <= MAX_ID_CHARACTERS) this.memory.remember(account, id, json)
  }
}

/** The body with the items themselves in place of the references to them; the first unknown one refuses the call. */
export function resolvedItems(
  { bytes, members, references = [] }: Pick<ModelRequest, 'bytes' | 'members' | 'references'>,
  known: ReadonlyMap<string, string>,
): Result<Uint8Array<ArrayBuffer>, Failure> {
  const input = members.get('input')
  if (!input) throw new Error('a body without input refers to items')
  const items: Uint8Array[] = listElements(bytes, input.start).map(({ start, end }) => bytes.subarray(start, end))
  const seen = new Set<string>()
  for (const { id, index } of references) {
    // Each once: a short body must not become a long one.
    const json = seen.has(id) ? undefined : known.get(id)
    if (json === undefined) return err(unknownItem(id))
    seen.add(id)
    items[index] = new TextEncoder().encode(inputItem(json))
  }
  const parts = items.filter(({ length }) => length > 0).flatMap((item, i) => (i === 0 ? [item] : [COMMA, item]))
  const body = [bytes.subarray(0, input.start), OPEN, ...parts, CLOSE, bytes.subarray(input.end)]
  return ok(new Uint8Array(Buffer.concat(body)))
}

const [OPEN, COMMA, CLOSE] = [Buffer.from('['), Buffer.from(','), Buffer.from(']')]

export function unknownItem(id: string): Failure {
  return failure(
    'unsupported_parameter',
    `There is no item "${id.slice(0, 80)}". Items are kept for 30 minutes, in memory, unless store is false. Send the item itself. SDKs do so with store: false (in the AI SDK: providerOptions.openai.store).`,
    { param: 'input' },
  )
}

/** Remembers the items of an answer, unless the caller said not to store them. */
export function rememberItems(
  items: Items,
  call: AuthenticatedCall,
  { keepsItems }: Pick<ModelRequest, 'keepsItems'>,
  response: () => unknown,
): void {
  if (!keepsItems) return
  const answer = response()
  const given: ItemText[] = []
  for (const item of elementsOf(isJson(answer) ? answer['output'] : null)) {
    const id = isJson(item) ? item['id'] : null
    if (typeof id === 'string') given.push([id, JSON.stringify(item)])
  }
  items.remember(call, given)
}

export function responseOfBody(body: Uint8Array): unknown {
  return readableJson(new TextDecoder().decode(body))
}

/** The Responses object in the last event of a stream. */
export function responseOfEnding(ending: Uint8Array): unknown {
  const text = new TextDecoder().decode(ending).trimEnd()
  const start = Math.max(text.lastIndexOf('\n\n'), text.lastIndexOf('\r\n\r\n'))
  return eventJson(text.slice(start + 1).trimStart())['response']
}

/** An answered item as one of the input. Empty for reasoning that only a vendor which stores it can read again. */
function inputItem(json: string): string {
  const item = parsedJson(json)
  return isJson(item) && item['type'] === 'reasoning' && typeof item['encrypted_content'] !== 'string' ? '' : json
}
