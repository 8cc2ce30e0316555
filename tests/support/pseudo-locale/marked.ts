/** Around every message of the pseudo-locale. */
export const MARKS = { open: '\u27e6', close: '\u27e7' } as const

/** What is no text in messages: where an action leads, and its kind. */
function isText(value: string, name: string): boolean {
  return value !== '' && name !== 'kind' && !(name === 'to' && value.startsWith('/'))
}

/** Messages with marks around every text, also around what functions return. */
export function marked<T>(value: T): T {
  return markedValue(value, '') as T // it has the shape of `value`
}

function markedValue(value: unknown, name: string): unknown {
  if (typeof value === 'string') return isText(value, name) ? MARKS.open + value + MARKS.close : value
  if (typeof value === 'function') return (...args: unknown[]) => markedValue(value(...args), '')
  if (Array.isArray(value)) return value.map((one) => markedValue(one, ''))
  if (value === null || typeof value !== 'object' || Object.getPrototypeOf(value) !== Object.prototype) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, markedValue(one, key)]))
}
