/** One element of a `Forwarded` header: its parameters by lower-case name, quotes and escapes taken off. */
type ForwardedElement = ReadonlyMap<string, string>

const TOKEN = /[!#$%&'*+\-.^_`|~0-9A-Za-z]+/y
/** What RFC 7239 wants quoted, and many proxies write bare: an address with brackets or a port. It holds no delimiter. */
const BARE_VALUE = /[!#$%&'*+\-.^_`|~0-9A-Za-z:[\]]+/y
const QUOTED = /"((?:[\t \x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t \x21-\x7e\x80-\xff])*)"/y
const SPACE = /[ \t]*/y

/**
 * Reads the value of one `Forwarded` header, or of several joined by commas (RFC 7239 section 4). Null when any part of it is not
 * well formed: a quote that a caller leaves open must never choose where a trusted proxy's own element begins.
 */
export function parseForwarded(header: string): readonly ForwardedElement[] | null {
  const elements: ForwardedElement[] = []
  let at = 0
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at
    const match = pattern.exec(header)
    if (match) at = pattern.lastIndex
    return match
  }
  const element = (): ForwardedElement | null => {
    const parameters = new Map<string, string>()
    do {
      take(SPACE)
      const name = take(TOKEN)?.[0].toLowerCase()
      if (name !== undefined) {
        if (header[at++] !== '=' || parameters.has(name)) return null
        const value = take(BARE_VALUE)?.[0] ?? take(QUOTED)?.[1]?.replace(/\\(.)/g, '$1')
        if (value === undefined) return null
        parameters.set(name, value)
      }
      take(SPACE)
    } while (header[at] === ';' && ++at)
    return parameters
  }
  do {
    const next = element()
    if (!next) return null
    elements.push(next)
  } while (header[at] === ',' && ++at)
  return at === header.length ? elements : null
}
