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
    // Cut out first: to look for its `=` in the whole query would take quadratic time where none has one.
    const pair = search.slice(start, end)
    const at = pair.indexOf('=')
    if (pair !== '')
      add(values, unescaped(at < 0 ? pair : pair.slice(0, at)), unescaped(at < 0 ? '' : pair.slice(at + 1)))
  }
  return values
}

function unescaped(text: string): string {
  return /[%+]/.test(text) ? decodeURIComponent(text.replaceAll('+', ' ')) : text
}

function add(values: Map<string, string[]>, name: string, value: string): void {
  const known = values.get(name)
  if (known) known.push(value)
  else values.set(name, [value])
}
