/** A JSON object with members of unknown types. */
export type Json = Readonly<Record<string, unknown>>

/** Whether a parsed value is a JSON object, not null or an array. */
export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The members of a JSON object; none for any other value. */
export function membersOf(value: unknown): Json {
  return isJson(value) ? value : NO_MEMBERS
}

const NO_MEMBERS: Json = Object.freeze({})

/** The elements of a JSON array; an empty list for any other value. */
export function elementsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : NO_ELEMENTS
}

const NO_ELEMENTS: readonly unknown[] = Object.freeze([])

/** The elements of a JSON array, or the values of a JSON object. `Object.values` of a list of a million takes a second. */
export function partsOf(value: object): readonly unknown[] {
  return Array.isArray(value) ? value : Object.values(value)
}

/** Whether a parsed value is a whole number of things: at least 0, and exact. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

/** A parsed text; empty for any other value. */
export function stringOrEmpty(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** A parsed value as text: an object or list as its JSON. `String` throws for an object with a member named `toString`. */
export function jsonText(value: unknown): string {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value)
}

/** A member of a parsed value; undefined if it is missing or the value is no object. */
export function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}

/** The value of a JSON text; undefined if it is not JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true })

/** The value of a body in JSON; undefined if it is not UTF-8 or not JSON. */
export function parsedJsonBytes(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(UTF8.decode(bytes))
  } catch {
    return undefined
  }
}
