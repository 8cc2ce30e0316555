import { elementsOf, isJson } from '../core/json'

/** The names of arguments that vendors of models accept. */
const NAME = /^[a-zA-Z0-9_.-]{1,64}$/
const MAX_NAME = 64
/** OpenAI refuses a longer description of a tool. */
export const MAX_DESCRIPTION = 1024
const MAX_MEMBER_DESCRIPTION = 500
/** A larger schema says less of its inner parts: whatever is sent is validated anyway. */
const MAX_NODES = 300
const MAX_DEPTH = 8

type Json = Readonly<Record<string, unknown>>

/** How arguments were renamed, by the name that the model sees. Null where nothing below is. */
type Renamed = {
  readonly members: ReadonlyMap<string, { readonly name: string; readonly below: Renamed }>
  readonly items: Renamed
} | null

/** The schema of an object as every model takes it, and the way back from what a model sends. */
export interface ModelSchema {
  readonly schema: { readonly type: 'object' } & Json
  /** The arguments under their own names. */
  restore(input: Json): Json
  /** The model's name of this argument. */
  shownName(name: string): string
}

/** `taken`: names that the object has besides. */
export function modelSchema(schema: Json, taken: readonly string[] = []): ModelSchema {
  const written = new Writer().object(schema, schema, 0, taken)
  const shown = new Map([...(written.renamed?.members ?? [])].map(([safe, { name }]) => [name, safe]))
  return {
    schema: { ...written.schema, type: 'object', additionalProperties: false },
    restore: (input) => restored(input, written.renamed) as Json, // an object stays an object
    shownName: (name) => shown.get(name) ?? name,
  }
}

interface Written {
  readonly schema: Json
  readonly renamed: Renamed
}
const ANYTHING: Written = { schema: {}, renamed: null }
/** Kept as they are. Other keywords are left out: vendors refuse unknown ones. */
const KEPT = [
  'type',
  'enum',
  'default',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'pattern',
]

class Writer {
  private nodes = 0

  /** `root`: where references lead. */
  object(schema: Json, root: Json, depth: number, taken: readonly string[] = []): Written {
    const members = new Map<string, { name: string; below: Renamed }>()
    const properties: Record<string, unknown> = {}
    const safeNames = new Map<string, string>()
    const used = new Set(taken)
    const given = Object.entries(Object(schema['properties']) as Json)
    for (const [name] of given) if (NAME.test(name)) used.add(name)
    for (const [name, part] of given) {
      const safe = NAME.test(name) ? name : freeName(name, used)
      safeNames.set(name, safe)
      const { schema: inner, renamed } = this.any(part, root, depth + 1)
      properties[safe] = inner
      if (safe !== name || renamed !== null) members.set(safe, { name, below: renamed })
    }
    const required = [...new Set(elementsOf(schema['required']).flatMap((name) => safeNames.get(String(name)) ?? []))]
    return {
      schema: {
        type: 'object',
        ...text(schema),
        ...(given.length > 0 && { properties }),
        ...(required.length > 0 && { required }),
      },
      renamed: members.size === 0 ? null : { members, items: null },
    }
  }

  private any(given: unknown, root: Json, depth: number): Written {
    if (!isJson(given) || depth > MAX_DEPTH || this.nodes++ > MAX_NODES) return ANYTHING
    const inner = '$defs' in given ? given : root
    const { $ref, allOf, anyOf, oneOf, type, items, properties } = given
    if (typeof $ref === 'string') {
      const { $ref: _, ...own } = given
      const target = at(inner, $ref)
      return isJson(target) ? this.any({ ...target, ...own }, inner, depth + 1) : { ...ANYTHING, schema: text(given) }
    }
    if (Array.isArray(allOf)) return this.any(merged(given, allOf, inner), inner, depth + 1)
    const choices = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : null
    if (choices) return this.choice(given, choices, inner, depth)
    if (Array.isArray(type)) {
      const types = type.filter((one) => one !== 'null')
      if (types.length === 1) return this.any({ ...given, type: types[0] }, inner, depth + 1)
      return this.choice(
        given,
        types.map((one) => ({ ...given, description: undefined, type: one })),
        inner,
        depth,
      )
    }
    if (isJson(properties)) return this.object(given, inner, depth)
    const kept = Object.fromEntries(KEPT.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]])))
    const more = {
      ...('const' in given && { enum: [given['const']] }),
      ...(given['format'] === 'date-time' && { format: 'date-time' }),
    }
    if (type !== 'array') return { schema: { ...kept, ...more, ...text(given) }, renamed: null }
    const of = this.any(items, inner, depth + 1)
    return {
      schema: { ...kept, ...more, ...text(given), items: of.schema },
      renamed: of.renamed && { members: new Map(), items: of.renamed },
    }
  }

  private choice(given: Json, choices: readonly unknown[], root: Json, depth: number): Written {
    const parts = choices
      .filter((one) => !isJson(one) || one['type'] !== 'null')
      .map((one) => this.any(one, root, depth + 1))
    const [only] = parts
    const schemas = parts.map(({ schema }) => schema)
    const members = new Map(parts.flatMap(({ renamed }) => [...(renamed?.members ?? [])]))
    const items = parts.find(({ renamed }) => renamed?.items)?.renamed?.items ?? null
    const renamed = members.size === 0 && items === null ? null : { members, items }
    if (parts.length === 1 && only) return { schema: { ...only.schema, ...text(given) }, renamed }
    return { schema: { ...text(given), anyOf: schemas }, renamed }
  }
}

/** One object of all parts. Members of a later part win. */
function merged({ allOf: _, ...own }: Json, parts: readonly unknown[], root: Json): Json {
  let all: Json = {}
  for (const part of [...parts, own]) {
    if (!isJson(part)) continue
    const { $ref } = part
    const one = typeof $ref === 'string' ? at(root, $ref) : part
    if (!isJson(one)) continue
    const flat = Array.isArray(one['allOf']) && one !== own ? merged(one, one['allOf'], root) : one
    const properties = { ...Object(all['properties']), ...Object(flat['properties']) }
    const required = [...elementsOf(all['required']), ...elementsOf(flat['required'])]
    all = {
      ...all,
      ...flat,
      ...(Object.keys(properties).length > 0 && { properties }),
      ...(required.length > 0 && { required }),
    }
  }
  return all
}

/** The target of a reference into the definitions of a schema. Undefined if there is none. */
function at(root: Json, reference: string): unknown {
  const path = reference.startsWith('#/') ? reference.slice(2).split('/') : null
  return path?.reduce<unknown>((value, name) => {
    const key = name.replaceAll('~1', '/').replaceAll('~0', '~')
    return isJson(value) && Object.hasOwn(value, key) ? value[key] : undefined
  }, root)
}

function text({ description }: Json): { readonly description?: string } {
  return typeof description === 'string' && description !== ''
    ? { description: cut(description, MAX_MEMBER_DESCRIPTION) }
    : {}
}

/** At most `max` UTF-16 units, without half a character. */
export function cut(given: string, max: number): string {
  if (given.length <= max) return given
  return `${given.slice(0, max - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}

/** A name that models take, like this one. Adds it to `used`. */
function freeName(name: string, used: Set<string>): string {
  const base =
    name
      .replace(/[^a-zA-Z0-9_.-]+/g, '_')
      .replace(/^_+|_+$/g, '')
      .slice(0, MAX_NAME) || 'argument'
  let free = base
  for (let i = 2; used.has(free); i++) free = `${base.slice(0, MAX_NAME - 5)}_${i}`
  used.add(free)
  return free
}

function restored(value: unknown, renamed: Renamed): unknown {
  if (renamed === null) return value
  if (Array.isArray(value)) return value.map((one) => restored(one, renamed.items))
  if (!isJson(value)) return value
  const all: Record<string, unknown> = {}
  for (const [name, one] of Object.entries(value)) {
    const known = renamed.members.get(name)
    Object.defineProperty(all, known?.name ?? name, { value: restored(one, known?.below ?? null), enumerable: true })
  }
  return all
}
