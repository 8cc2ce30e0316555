import type { SoldName } from '../catalog/operation'
import { err, ok, type Result } from '../result'
import type { Api, ApiMethod, ApiOperation } from './api'

/** An operation as it is sold now, with its API. */
export interface SoldOperation {
  readonly api: Api
  readonly operation: ApiOperation
}

/** A request whose path is that of a declared template. `values`: its path parameters, decoded, by name. */
export interface ApiMatch extends SoldOperation {
  readonly values: Readonly<Record<string, string>>
}

/** Why a path leads to no operation. `method`: the template exists, for these methods. `value`: this path parameter is not allowed. */
export type NoMatch =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'method'; readonly allow: readonly string[] }
  | { readonly kind: 'value'; readonly param: string; readonly rule: string }

/** Two operations that one request would match. */
export interface RouteClash {
  readonly method: ApiMethod
  readonly shape: string
  readonly names: readonly [string, string]
}

interface Declared extends SoldOperation {
  readonly parameters: readonly string[]
  /** The match of every request, if the path has no parameters. */
  readonly fixed: Result<ApiMatch, NoMatch> | null
}

/** The operations at the end of one template. */
interface End {
  readonly byMethod: Map<string, Declared>
}

/** A part of a segment around one parameter: `v{version}.json`. */
interface Partial {
  readonly prefix: string
  readonly suffix: string
  readonly node: Node
}

class Node {
  /** By their text, with percent-escapes resolved: `%65xport` is `export` to every server. */
  readonly literals = new Map<string, Node>()
  /** By their text in lower case: many servers do not tell them apart. */
  readonly folded = new Map<string, Node[]>()
  /** The longest fixed text first. */
  readonly partials: Partial[] = []
  parameter: Node | null = null
  end: End | null = null
  /** Of a root: the ends of templates without parameters, by path. No other template is better for their own path. */
  readonly fixed = new Map<string, Found>()
}

/**
 * All operations on sale, found by request or by name. Immutable: a change of the catalog makes a new one, so that every call sees
 * one consistent catalog.
 */
export class ApiRoutes {
  readonly apis: readonly Api[]
  private readonly sold = new Map<string, Api>()
  private readonly names = new Map<string, SoldOperation>()

  /** Throws if two operations clash: check `clashes` before an API is stored. Disabled APIs and operations are not sold. */
  constructor(apis: readonly Api[]) {
    this.apis = apis
    for (const api of apis) {
      if (!api.enabled) continue
      treeOf(api)
      this.sold.set(api.name, api)
      for (const operation of api.operations) if (operation.enabled) this.names.set(operation.name, { api, operation })
    }
  }

  /**
   * The operation of a request below `/apis/v1/{api}`. `path` is the rest of the path as it came, percent-encoded. Segment by segment
   * a literal beats a parameter, however it is escaped, and also the literal of an operation that is not sold now. The method is looked
   * up at the best template only.
   */
  match(method: string, api: string, path: string): Result<ApiMatch, NoMatch> {
    const one = this.sold.get(api)
    const found = one ? endOf(one, path) : null
    if (!found) return err({ kind: 'unknown' })
    const sold = found.end.byMethod.get(method)
    if (!sold?.operation.enabled) {
      const others = [...found.end.byMethod.values()].filter(({ operation }) => operation.enabled)
      if (others.length === 0) return err({ kind: 'unknown' })
      return err({ kind: 'method', allow: others.map(({ operation }) => operation.method).sort() })
    }
    if (sold.fixed) return sold.fixed
    const values: Record<string, string> = {}
    for (const [i, param] of sold.parameters.entries()) {
      const value = plainValue(found.values[i] ?? null)
      if (!value.ok) return err({ kind: 'value', param, rule: value.error })
      values[param] = value.value
    }
    return ok({ api: sold.api, operation: sold.operation, values })
  }

  /** An operation on sale by its name, `{api}.{id}`. */
  byName(name: SoldName | string): SoldOperation | null {
    return this.names.get(name) ?? null
  }

  /** All operations on sale. */
  get operations(): Iterable<SoldOperation> {
    return this.names.values()
  }
}

/** The path of an operation with its values, which are percent-encoded. */
export function writtenPath(template: string, values: Readonly<Record<string, string>>): string {
  return template.includes('{') ? filledPath(template, values) : template
}

function filledPath(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(/\{([^{}]+)\}/g, (_, name: string) => values[name] ?? '')
}

/** Whether a written path is that of this operation. The value of a parameter may make it the path of another one, with its own price. */
export function isPathOf({ api, operation }: SoldOperation, path: string): boolean {
  return endOf(api, path)?.end.byMethod.get(operation.method)?.operation.id === operation.id
}

/** The operations of one API that the same request would match. The catalog refuses them by name. */
export function clashes(api: Api): RouteClash[] {
  const root = new Node()
  return api.operations.flatMap((operation) => insert(root, { api, operation }) ?? [])
}

/** The templates of an API that are not paths: each with the reason. */
export function templateProblem(path: string): string | null {
  if (!path.startsWith('/')) return 'must start with /'
  if (/[?#\\;\s]|[^\x21-\x7e]/.test(path))
    return 'must be a plain path, without query, spaces or characters beyond ASCII'
  const names = new Set<string>()
  for (const segment of path.slice(1).split('/')) {
    const parts = segment.match(/\{[^{}]*\}/g) ?? []
    if (parts.length > 1) return `has two parameters in the segment ${segment}`
    const fixed = segment.replace(/\{[^{}]*\}/, '')
    if (/[{}]/.test(fixed)) return `has an unbalanced brace in the segment ${segment}`
    if (parts.length === 0 && /^\.{1,2}$/.test(decodedFully(segment))) return 'must not contain . or .. segments'
    const name = parts[0]?.slice(1, -1)
    if (name === undefined) continue
    if (name === '') return 'has a parameter without a name'
    if (names.has(name)) return `has the parameter ${name} twice`
    names.add(name)
  }
  const plain = path.replace(/\{[^{}]*\}/g, 'x')
  return URL.parse(`http://x${plain}`)?.pathname === plain ? null : 'must not contain characters that URLs encode'
}

/** The names of the parameters in a template, in order. */
export function pathParameters(path: string): string[] {
  return [...path.matchAll(/\{([^{}]+)\}/g)].map(([, name = '']) => name)
}

function insert(root: Node, { api, operation }: SoldOperation): RouteClash | null {
  let node = root
  for (const segment of operation.path.slice(1).split('/')) node = childOf(node, segment)
  node.end ??= { byMethod: new Map() }
  const { byMethod } = node.end
  const other = byMethod.get(operation.method)
  if (other) {
    const shape = operation.path.replace(/\{[^{}]+\}/g, '{}')
    return { method: operation.method, shape, names: [other.operation.name, operation.name] }
  }
  const parameters = pathParameters(operation.path)
  const fixed = parameters.length === 0 ? ok({ api, operation, values: {} }) : null
  byMethod.set(operation.method, { api, operation, parameters, fixed })
  if (parameters.length === 0) root.fixed.set(operation.path, { end: node.end, values: [] })
  return null
}

function childOf(node: Node, segment: string): Node {
  const parts = /^([^{]*)\{[^{}]+\}(.*)$/.exec(segment)
  if (!parts) {
    const text = decoded(segment) ?? segment
    const known = node.literals.get(text)
    if (known) return known
    const child = new Node()
    node.literals.set(text, child)
    node.folded.set(text.toLowerCase(), [...(node.folded.get(text.toLowerCase()) ?? []), child])
    return child
  }
  const [prefix = '', suffix = ''] = parts.slice(1).map((fixed) => decoded(fixed) ?? fixed)
  if (prefix === '' && suffix === '') {
    node.parameter ??= new Node()
    return node.parameter
  }
  const same = node.partials.find((partial) => partial.prefix === prefix && partial.suffix === suffix)
  if (same) return same.node
  const child = new Node()
  node.partials.push({ prefix, suffix, node: child })
  node.partials.sort((a, b) => b.prefix.length + b.suffix.length - (a.prefix.length + a.suffix.length))
  return child
}

const TREES = new WeakMap<Api, Node>()

/** The templates of an API, also of operations that are not sold now. Built once: an API is immutable. */
function treeOf(api: Api): Node {
  const built = TREES.get(api)
  if (built) return built
  const root = new Node()
  const inOrder = [...api.operations].sort((a, b) => Number(b.enabled) - Number(a.enabled))
  for (const operation of inOrder) {
    const clash = insert(root, { api, operation })
    if (clash && operation.enabled)
      throw new Error(`${clash.method} ${clash.shape} is declared by ${clash.names.join(' and ')}`)
  }
  TREES.set(api, root)
  return root
}

/** A template that a path ends at. `values`: decoded; null for one that is no valid percent-encoded text. */
interface Found {
  readonly end: End
  readonly values: readonly (string | null)[]
}

/** A segment of a path: as it came, and decoded, null if that is impossible. */
interface Segment {
  readonly raw: string
  readonly text: string | null
}

/** The best template for a path, or null. A path that is another operation's but for the case of its letters leads nowhere. */
function endOf(api: Api, path: string): Found | null {
  if (!path.startsWith('/')) return null
  const root = treeOf(api)
  const fixed = root.fixed.get(path)
  if (fixed) return fixed
  const segments = path
    .slice(1)
    .split('/')
    .map((raw): Segment => ({ raw, text: decoded(raw) }))
  const found = walk(root, segments, 0, [])
  return found === 'folded' ? null : found
}

/** The best template from here on. `values` collects those of parameters; what it tried in vain it takes back. */
function walk(node: Node, segments: readonly Segment[], i: number, values: (string | null)[]): Found | 'folded' | null {
  const segment = segments[i]
  if (segment === undefined) return node.end ? { end: node.end, values } : null
  const { raw, text } = segment
  const literal = text === null ? undefined : node.literals.get(text)
  const found = literal && walk(literal, segments, i + 1, values)
  if (found) return found
  const folded = text === null ? undefined : node.folded.get(text.toLowerCase())
  if (folded?.some((other) => other !== literal && walk(other, segments, i + 1, []))) return 'folded'
  const whole = text ?? raw
  const tries = node.partials
    .filter((partial) => surrounds(partial, whole, (part) => part.toLowerCase()))
    .map((partial) => ({
      node: partial.node,
      value: text?.slice(partial.prefix.length, text.length - partial.suffix.length) ?? null,
      isFolded: !surrounds(partial, whole, (part) => part),
    }))
  if (node.parameter && raw !== '') tries.push({ node: node.parameter, value: text, isFolded: false })
  for (const tried of tries) {
    if (tried.isFolded) {
      if (walk(tried.node, segments, i + 1, [])) return 'folded'
      continue
    }
    values.push(tried.value)
    const deeper = walk(tried.node, segments, i + 1, values)
    if (deeper) return deeper
    values.pop()
  }
  return null
}

/** Whether a segment has the fixed text of a partial around something. */
function surrounds({ prefix, suffix }: Partial, whole: string, as: (part: string) => string): boolean {
  if (whole.length <= prefix.length + suffix.length) return false
  return as(whole).startsWith(as(prefix)) && as(whole).endsWith(as(suffix))
}

/** Characters that some servers read as the end of a segment, a path or a line, and escapes that survived one decoding. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
const UNSAFE = /[/\\;?#\u0000-\u001f\u007f-\u009f]|%[0-9a-f]/i

/** A path value that means the same to every server: it names one segment, however often it is decoded. */
export function pathValue(raw: string): Result<string, string> {
  return plainValue(decoded(raw))
}

/** The same of a decoded value; null for text that could not be decoded. */
export function plainValue(value: string | null): Result<string, string> {
  if (value === null) return err('must be valid percent-encoded UTF-8')
  if (value === '') return err('must not be empty')
  if (value === '.' || value === '..') return err('must not be . or ..')
  if (UNSAFE.test(value)) return err('must not contain / \\ ; ? #, control characters or percent-encoded characters')
  return ok(value)
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

function decodedFully(text: string): string {
  let value = text
  for (let i = 0; i < 5; i++) {
    const next = decoded(value)
    if (next === null || next === value) return value
    value = next
  }
  return value
}

/** A key's rules about the operations that it may call. */
export interface EndpointList {
  /** Empty: there is no list. */
  readonly allowedEndpoints: readonly SoldName[]
  /** When the list was set; null means with the key. */
  readonly endpointsAt: number | null
  readonly createdAt: number
}

/**
 * Whether a key may call an imported operation. A key without a list may call every read, and no write: a key that was made before an
 * API was imported never gains the right to change something there. A list counts only for an API that was there when the list was set,
 * so that lists of a removed API do not revive when its name is used again.
 */
export function mayCallImported(key: EndpointList, { api, operation }: SoldOperation): boolean {
  if (key.allowedEndpoints.length === 0) return operation.effect === 'read'
  return key.allowedEndpoints.includes(operation.name) && (key.endpointsAt ?? key.createdAt) >= api.createdAt
}
