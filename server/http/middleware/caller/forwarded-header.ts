/** One element of a `Forwarded` header: its parameters by lower-case name, with quotes and escapes removed. */
type ForwardedElement = ReadonlyMap<string, string>

const TOKEN = /[!#$%&'*+\-.^_`|~0-9A-Za-z]+/y
/** An address with brackets or a port, which RFC 7239 wants quoted but many proxies write bare. Contains no delimiter. */
const BARE_VALUE = /[!#$%&'*+\-.^_`|~0-9A-Za-z:[\]]+/y
const QUOTED = /"((?:[\t \x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t \x21-\x7e\x80-\xff])*)"/y
const SPACE = /[ \t]*/y

/**
 * Parses one `Forwarded` header, or several joined by commas (RFC 7239 section 4). Null if any part is malformed: a caller's
 * unclosed quote must not move the start of a trusted proxy's element.
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
