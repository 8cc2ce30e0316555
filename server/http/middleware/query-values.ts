/**
 * The values of each name in a query such as `?q=a+b&q=c`, exactly as `URLSearchParams` reads them. Text is taken apart here, because
 * Bun needs longer for a `URLSearchParams` than for the rest of the validation; a query with broken escapes goes there.
 */
export function queryValues(search: string): ReadonlyMap<string, readonly string[]> {
  try {
    return grouped(pairsOf(search.slice(1)))
  } catch (error) {
    if (error instanceof URIError) return grouped(new URLSearchParams(search))
    throw error
  }
}

/** Throws a URIError when an escape is not UTF-8. */
function pairsOf(query: string): [string, string][] {
  return query
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const at = pair.indexOf('=')
      return at < 0 ? [unescaped(pair), ''] : [unescaped(pair.slice(0, at)), unescaped(pair.slice(at + 1))]
    })
}

function unescaped(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '))
}

function grouped(pairs: Iterable<readonly [string, string]>): Map<string, string[]> {
  const values = new Map<string, string[]>()
  for (const [name, value] of pairs) {
    const known = values.get(name)
    if (known) known.push(value)
    else values.set(name, [value])
  }
  return values
}
