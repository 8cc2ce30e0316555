import { isJson, type Json, jsonText } from '../../../core/json'
import { USUAL_TIERS } from '../../../core/models/model-file-schema'
import type { TokenPart } from '../../../core/models/model-tokens'
import { endOfValue, objectMembers } from './json/json-members'

/** Returns the parts of a property's value that no token price covers, as paths such as `tools.web_search_20250305`. */
export type MemberRule = (value: unknown, path: string) => readonly string[]

/** Rules by property name. A property without a rule is not covered. */
export type MemberRules = Readonly<Record<string, MemberRule>>

/** What a rule returns for a value that is covered in full. */
export const NOTHING: readonly string[] = []

/** Covered with any value: the vendor bills its tokens and nothing else. */
export const COVERED: MemberRule = () => NOTHING

/** These names, covered with any value. */
export function covered(...names: readonly string[]): MemberRules {
  return Object.fromEntries(names.map((name) => [name, COVERED]))
}

/** Covered with these values only. Others change the price of a token or add other charges. */
export function only(...values: readonly unknown[]): MemberRule {
  return (value, path) => (values.includes(value) ? NOTHING : [path])
}

/** Covered as far as its own properties are. */
export function objectOf(rules: MemberRules): MemberRule {
  return (value, path) => (isJson(value) ? uncovered(value, rules, `${path}.`) : [])
}

export const EMPTY: MemberRule = (value, path) => (Array.isArray(value) && value.length === 0 ? [] : [path])

/**
 * The properties of an object that no token price covers. A null counts as absent. Unknown names are not covered: vendors keep
 * adding properties with their own charges, and compatible servers have more of them.
 */
export function uncovered(json: Json, rules: MemberRules, path = ''): readonly string[] {
  const found: string[] = []
  for (const name in json) {
    const value = json[name]
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined
    if (value === null || rule === COVERED) continue
    // In place: a body can have a hundred thousand of them.
    if (!rule) found.push(path + shortName(name))
    else for (const one of rule(value, path + name)) found.push(one)
  }
  return found
}

/** A name from a body, shortened for a message. */
export function shortName(name: unknown): string {
  return jsonText(name).slice(0, 60)
}

/** A service tier: covered if it costs the usual price. */
export const tier: MemberRule = (value, path) =>
  specialTier(value) === null ? NOTHING : [`${path}.${shortName(value).toLowerCase()}`]

/** The tier that a call asks for; null if it is the usual one. */
export function specialTier(value: unknown): string | null {
  const name = typeof value === 'string' ? value.toLowerCase() : null
  return name === null || USUAL_TIERS.has(name) ? null : name
}

const MINUTES: ReadonlySet<unknown> = new Set(['5m', '30m', 'in_memory', 'in-memory'])

/** The lifetime of what a cache keeps: covered for minutes. */
export const lifetime: MemberRule = (value, path) => (MINUTES.has(value) ? NOTHING : [`${path}.${shortName(value)}`])

const CACHE_HINTS: ReadonlySet<string> = new Set(['cache_control', 'prompt_cache_breakpoint'])

/** The properties of a body that the price of plain tokens does not cover, each once. */
export function uncoveredIn(bytes: Uint8Array, json: Json, rules: MemberRules): readonly string[] {
  const lasting = cacheLifetimes(json, bytes)
  const others = uncovered(json, rules)
  return lasting.length === 0 && others.length < 2 ? others : [...new Set([...others, ...lasting])]
}

/** The lifetimes, longer than minutes, that hints for a cache ask for anywhere in a body. */
function cacheLifetimes(json: Json, bytes: Uint8Array): readonly string[] {
  // Hardly any body has one, and the search is native. A name may also be written with escapes.
  const isEscaped = INCLUDES.call(bytes, '\\u00')
  if (!isEscaped && !INCLUDES.call(bytes, '"ttl"')) return NOTHING
  return [...new Set([...hintsIn(bytes), ...(isEscaped ? hintsOf(json) : [])])]
}

const INCLUDES = Buffer.prototype.includes
const INDEX_OF = Buffer.prototype.indexOf
/** Space and the colon. */
const BEFORE_VALUE: ReadonlySet<number | undefined> = new Set([0x20, 0x09, 0x0a, 0x0d, 0x3a])
const OPEN = 0x7b

/** Reads every hint as it is written: of two with the same name, a parser may take the first, and another one the last. */
function hintsIn(bytes: Uint8Array): readonly string[] {
  const found: string[] = []
  for (const hint of CACHE_HINTS) {
    const name = `"${hint}"`
    for (let at = INDEX_OF.call(bytes, name); at >= 0; at = INDEX_OF.call(bytes, name, at + 1)) {
      let open = at + name.length
      while (BEFORE_VALUE.has(bytes[open])) open++
      if (bytes[open] !== OPEN) continue
      const value = lifetimeIn(bytes.subarray(open, open + MAX_HINT_BYTES))
      if (value !== null) found.push(...lifetime(value, `${hint}.ttl`))
    }
  }
  return found
}

/** Many times what a hint has. In longer ones others could be nested, each of which would be searched to its end. */
const MAX_HINT_BYTES = 4096

/** The lifetime in a hint that begins here; null if there is none. */
function lifetimeIn(bytes: Uint8Array): unknown {
  if (endOfValue(bytes, 0) >= bytes.length) return 'too long'
  const members = objectMembers(bytes)
  if (!members) return 'twice'
  const ttl = members.get('ttl')
  return ttl ? JSON.parse(UTF8.decode(bytes.subarray(ttl.start, ttl.end))) : null
}

const UTF8 = new TextDecoder()

function hintsOf(json: Json): readonly string[] {
  const found: string[] = []
  const left: object[] = [json]
  for (let value = left.pop(); value !== undefined; value = left.pop())
    for (const [name, inner] of Object.entries(value)) {
      if (typeof inner !== 'object' || inner === null) continue
      const { ttl = null } = CACHE_HINTS.has(name) ? Object(inner) : {}
      if (ttl !== null) found.push(...lifetime(ttl, `${name}.ttl`))
      left.push(inner)
    }
  return found
}

/** Members with a price of their own, by the part that it is for. */
const PARTS: Readonly<Record<string, TokenPart>> = {
  'messages.input_audio': 'input_audio',
  'contents.audio': 'input_audio',
  'systemInstruction.audio': 'input_audio',
  audio: 'output_audio',
  'modalities.audio': 'output_audio',
  'generationConfig.responseModalities.AUDIO': 'output_audio',
  'generationConfig.speechConfig': 'output_audio',
  'modalities.image': 'output_image',
  'generationConfig.responseModalities.IMAGE': 'output_image',
  'generationConfig.imageConfig': 'output_image',
}
const LIFETIME = /(?:\.ttl|^prompt_cache_retention)\.(1h|12h|24h)$/

/** The part of a call's tokens whose price covers a member; null if there is none. */
export function pricedPart(member: string): TokenPart | null {
  const hours = LIFETIME.exec(member)?.[1]
  if (hours !== undefined) return hours === '1h' ? 'cache_write_1h' : 'cache_write_12h'
  return Object.hasOwn(PARTS, member) ? (PARTS[member] ?? null) : null
}
