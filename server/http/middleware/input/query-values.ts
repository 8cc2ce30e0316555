/**
 * The values of each name in a query such as `?q=a+b&q=c`, exactly as `URLSearchParams` reads them. Text is taken apart here, because
 * Bun needs longer for a `URLSearchParams` than for the rest of the validation; a query with broken escapes goes there.
 */
export function queryValues(search: string): ReadonlyMap<string, readonly string[]> {
  try {
    return readQuery(search)
  } catch (error) {
    if (!(error instanceof URIError)) throw error
    const values = new Map<string, string[]>()
    for (const [name, value] of new URLSearchParams(search)) add(values, name, value)
    return values
  }
}

/** Throws a URIError when an escape is not UTF-8. */
function readQuery(search: string): Map<string, string[]> {
  const values = new Map<string, string[]>()
  for (let start = 1, end = 0; start <= search.length; start = end + 1) {
    const next = search.indexOf('&', start)
    end = next < 0 ? search.length : next
    const at = nameEnd(search, start, end)
    if (end > start) add(values, unescaped(search.slice(start, at)), unescaped(search.slice(at + 1, end)))
  }
  return values
}

/** The index of the first `=` of a pair, or its end. To search the whole query for it would take quadratic time where none has one. */
function nameEnd(search: string, start: number, end: number): number {
  let at = start
  while (at < end && search.charCodeAt(at) !== 0x3d) at++
  return at
}

function unescaped(text: string): string {
  return /[%+]/.test(text) ? decodeURIComponent(text.replaceAll('+', ' ')) : text
}

function add(values: Map<string, string[]>, name: string, value: string): void {
  const known = values.get(name)
  if (known) known.push(value)
  else values.set(name, [value])
}
