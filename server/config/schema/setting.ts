import { ConfigError } from '../config-error'

/** Reads a setting by its name; null if it is not set. */
export type Read = (name: string) => string | null

export type JsonSchema = Readonly<Record<string, unknown>>

/** The meaning of a setting, in Markdown. */
interface About {
  readonly doc: string
  /** A value that works, for messages, the documentation and editors. */
  readonly example?: string
  /** The default in the documentation where it depends on something else. */
  readonly otherwise?: string
  /** Whether it is never printed and may also come from a file, as `NAME_FILE`. */
  readonly secret?: boolean
  /** Whether it is needed to find the configuration file, and so cannot be in it. */
  readonly environmentOnly?: boolean
}

/** One setting: its name, values, default and meaning, for the parser, the documentation, the JSON Schema and `gateway config`. */
export interface Setting<T = unknown> {
  readonly name: string
  readonly doc: string
  readonly example: string | null
  /** As text; null for none, or for one that depends on something else. */
  readonly default: string | null
  /** The default as the documentation shows it. */
  readonly defaultText: string
  readonly secret: boolean
  readonly environmentOnly: boolean
  /** Of its value in a configuration file. */
  readonly schema: JsonSchema
  /** Its validated value. Throws a `ConfigError` that names it. */
  readonly of: (read: Read) => T
}

/** A setting that does not know its name yet: the key in its group. */
type Unnamed<T> = (name: string) => Setting<T>
/** Null where there is no default. */
type Value<T, D> = D extends null ? T | null : T

/** Settings that belong together: one table of docs/configuration.md. */
export interface SettingGroup<S extends Readonly<Record<string, Setting>> = Readonly<Record<string, Setting>>> {
  readonly title: string
  /** Markdown above the table. */
  readonly intro: string
  readonly settings: S
}

/** Declares a group. The keys of `unnamed` are the names of the variables. */
export function group<const U extends Readonly<Record<string, Unnamed<unknown>>>>(
  title: string,
  intro: string,
  unnamed: U,
) {
  const named = Object.fromEntries(Object.entries(unnamed).map(([name, make]) => [name, make(name)]))
  return { title, intro, settings: named as { readonly [K in keyof U]: ReturnType<U[K]> } }
}

/** Declares a setting whose value `parse` reads from its text; the value is null if it is not set and has no default. */
export function setting<T, D extends string | null>(
  about: About & { readonly default: D },
  schema: JsonSchema,
  parse: (text: string, name: string) => T,
): Unnamed<Value<T, D>> {
  const { doc, example = null, otherwise, secret = false, environmentOnly = false } = about
  return (name) => ({
    name,
    doc,
    example,
    secret,
    environmentOnly,
    schema,
    default: about.default,
    defaultText: otherwise ?? (about.default === null ? '' : `\`${about.default}\``),
    of: (read) => {
      const text = read(name) ?? about.default
      return (text === null ? null : parse(text, name)) as Value<T, D>
    },
  })
}

/** The error for a value that is not as it must be. `rule` ends with an example; `text` is null where it may hold a secret. */
export function invalidSetting(name: string, rule: string, text: string | null): ConfigError {
  return new ConfigError(`${name} must be ${rule}${text === null ? '' : `, not ${quoted(text)}`}`)
}

const MAX_QUOTED = 80

/** On one line, whatever the text contains, and without the password of a URL. */
export function quoted(text: string): string {
  const shown = text.replaceAll(/\/\/[^/\s]*@/g, '//...@')
  return JSON.stringify(shown.length > MAX_QUOTED ? `${shown.slice(0, MAX_QUOTED)}...` : shown)
}

export function integer<const D extends number | null>(
  about: About & { readonly default: D; readonly min: number; readonly max: number },
): Unnamed<Value<number, D>> {
  const { min, max } = about
  const schema = { type: 'integer', minimum: min, maximum: max }
  return setting({ ...about, default: about.default === null ? null : String(about.default) }, schema, (text, name) =>
    whole(name, text, min, max),
  ) as Unnamed<Value<number, D>>
}

function whole(name: string, text: string, min: number, max: number): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= min && value <= max)) throw invalidSetting(name, `an integer from ${min} to ${max}`, text)
  return value
}

export function flag<const D extends boolean | null>(
  about: About & { readonly default: D },
): Unnamed<Value<boolean, D>> {
  const schema = { type: 'boolean' }
  return setting({ ...about, default: about.default === null ? null : String(about.default) }, schema, (text, name) => {
    if (text !== 'true' && text !== 'false') throw invalidSetting(name, 'true or false', text)
    return text === 'true'
  }) as Unnamed<Value<boolean, D>>
}

export function choice<const T extends string, const D extends T | null>(
  about: About & { readonly default: D; readonly values: readonly T[] },
): Unnamed<Value<T, D>> {
  const { values } = about
  return setting({ ...about, default: about.default as string | null }, { enum: values }, (text, name) => {
    const found = values.find((value) => value === text)
    if (found === undefined) throw invalidSetting(name, `one of ${values.join(', ')}`, text)
    return found
  }) as Unnamed<Value<T, D>>
}

/** Text. `is` says which text is right, and `rule` says it to people. */
export function text<const D extends string | null = null>(
  about: About & { readonly default?: D; readonly is?: RegExp; readonly rule?: string },
): Unnamed<Value<string, D>> {
  const { is = /^/, rule = 'text', secret } = about
  return setting({ ...about, default: about.default ?? null }, { type: 'string' }, (value, name) => {
    if (!is.test(value)) throw invalidSetting(name, rule, secret ? null : value)
    return value
  }) as Unnamed<Value<string, D>>
}

/** Several values, separated by commas; in the configuration file also a list. Entries are trimmed. */
export function list<T, const D extends string | null = null>(
  about: About & { readonly default?: D },
  parse: (entries: readonly string[], name: string, text: string) => T,
): Unnamed<Value<T, D>> {
  const schema = { anyOf: [{ type: 'array', items: { type: 'string' } }, { type: 'string' }] }
  const each = (value: string, name: string) =>
    parse(
      value.split(',').map((entry) => entry.trim()),
      name,
      value,
    )
  return setting({ ...about, default: about.default ?? null }, schema, each) as Unnamed<Value<T, D>>
}

/** An http or https URL. Only a secret one may have credentials, query and fragment. */
export function httpUrl<const D extends string | null = null>(
  about: About & { readonly default?: D; readonly example: string },
): Unnamed<Value<string, D>> {
  const { example, secret } = about
  return setting({ ...about, default: about.default ?? null }, { type: 'string', format: 'uri' }, (value, name) => {
    const url = URL.parse(value)
    // The URL of a service with an API key can contain it, so the message does not repeat that one.
    if (!url || !['http:', 'https:'].includes(url.protocol) || (!secret && (url.username || url.search || url.hash)))
      throw invalidSetting(name, `an http or https URL such as ${example}`, secret || url?.username ? null : value)
    return url.href
  }) as Unnamed<Value<string, D>>
}
