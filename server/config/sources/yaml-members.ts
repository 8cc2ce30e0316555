import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument, Scalar } from 'yaml'
import { ConfigError } from '../config-error'

/** A name with its value in a YAML map. */
export interface YamlMember {
  readonly name: string
  /** Such as `/etc/gateway.yaml:3`. */
  readonly location: string
  /** Its value in the form that a variable has. */
  readonly text: () => string
  /** Of a value that is a map. */
  readonly members: () => readonly YamlMember[]
}

/** The members of the map that a YAML text is. Throws a `ConfigError` with the line; it never repeats a value. */
export function yamlMembers(text: string, path: string): readonly YamlMember[] {
  const lines = new LineCounter()
  // Without types: 0x... is an address and not a number.
  const document = parseDocument(text, { schema: 'failsafe', lineCounter: lines })
  const [error] = document.errors
  if (error) {
    const { line, col } = lines.linePos(error.pos[0])
    throw new ConfigError(`${path}:${line}:${col} is not valid YAML (${error.code.toLowerCase().replaceAll('_', ' ')})`)
  }
  return membersOf(document.contents, path, lines)
}

function membersOf(map: unknown, path: string, lines: LineCounter): readonly YamlMember[] {
  if (map === null || (isScalar(map) && map.value === '')) return []
  if (!isMap(map)) throw new ConfigError(`${path} must be a list of settings with one value each, such as PORT: 3000`)
  return map.items.map(({ key, value }) => {
    if (!isScalar(key)) throw new ConfigError(`${path} must have names of settings as keys, such as PORT: 3000`)
    const name = String(key.value)
    const location = `${path}:${lines.linePos(key.range?.[0] ?? 0).line}`
    return {
      name,
      location,
      text: () => valueText(value as Node | null, location, name),
      members: () => membersOf(value, path, lines),
    }
  })
}

/** A list as `a,b`, a map of single values as `a=1,b=2`, and what is deeper as JSON: the forms that variables have. */
function valueText(node: Node | null, at: string, name: string): string {
  const value = plain(node, at, name)
  if (typeof value === 'string') return value
  if (typeof value === 'number') return String(value)
  const parts: readonly (readonly [string | null, unknown])[] = Array.isArray(value)
    ? value.map((entry) => [null, entry])
    : Object.entries(value)
  if (parts.some(([, part]) => typeof part === 'object')) return JSON.stringify(value)
  return parts.map(([key, part]) => (key === null ? String(part) : `${key}=${part}`)).join(',')
}

type Plain = string | number | readonly Plain[] | { readonly [name: string]: Plain }

/** Inside lists and maps, whole numbers without quotes are numbers. */
function plain(node: unknown, at: string, name: string, isInside = false): Plain {
  if (node === null) return ''
  if (isScalar(node)) {
    const text = String(node.value ?? '')
    return isInside && node.type === Scalar.PLAIN && /^(0|[1-9]\d{0,14})$/.test(text) ? Number(text) : text
  }
  if (isSeq(node)) return node.items.map((item) => plain(item, at, name, true))
  if (isMap(node))
    return Object.fromEntries(node.items.map(({ key, value }) => [String(key), plain(value, at, name, true)]))
  throw new ConfigError(`${at}: ${name} must be a value${isAlias(node) ? ', not an alias' : ''}`)
}
