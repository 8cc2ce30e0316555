import { KEY_SIZES } from '../../../../server/core/credentials/api-key.ts'
import type { ApiKey, KeySettings } from '../../api/keys.ts'
import { KEY_TEXT as TEXT } from '../../messages/keys.ts'

type Kind = 'count' | 'list' | 'tags' | 'prose'
type KindOf<V> = [V] extends [number | null | undefined]
  ? 'count'
  : [V] extends [string | null | undefined]
    ? 'prose'
    : 'list' | 'tags'

interface TypedSetting<K extends Kind> {
  /** A whole number above 0, a list of words, tags between commas, or text of several lines. Empty is none. */
  readonly kind: K
  /** The longest text, in characters, or the longest list. */
  readonly max?: number
  /** Where the form asks for it: with what every key has, or among what few keys have. */
  readonly section: 'first' | 'more'
}

/**
 * The settings that are typed into one control each. Their text is in `KEY_TEXT.typed`; the form, its rules, the key's page, its
 * history and the server's refusals come from here.
 */
const TYPED_SETTINGS = {
  note: { kind: 'prose', max: KEY_SIZES.note, section: 'first' },
  tags: { kind: 'tags', max: KEY_SIZES.tags, section: 'first' },
  allowed_models: { kind: 'list', max: KEY_SIZES.models, section: 'more' },
  pinned_operations: { kind: 'list', max: KEY_SIZES.pinnedOperations, section: 'more' },
  rpm_limit: { kind: 'count', section: 'more' },
  tpm_limit: { kind: 'count', section: 'more' },
} as const satisfies { readonly [N in keyof KeySettings]?: TypedSetting<KindOf<KeySettings[N]>> }

export type TypedName = keyof typeof TYPED_SETTINGS
export type TypedValues = Readonly<Record<TypedName, string>>

export const TYPED_NAMES = Object.keys(TYPED_SETTINGS) as readonly TypedName[]

export function typedNames(section: 'first' | 'more'): readonly TypedName[] {
  return TYPED_NAMES.filter((name) => settingOf(name).section === section)
}

export function settingOf(name: TypedName): TypedSetting<Kind> {
  return TYPED_SETTINGS[name]
}

/** The form's initial values. */
export function typedValues(key: ApiKey | null): TypedValues {
  return byName((name) => {
    const value = key?.[name] ?? ''
    return typeof value === 'object' ? value.join(settingOf(name).kind === 'tags' ? ', ' : '\n') : String(value)
  })
}

/** The problem of the typed value; undefined without one. */
export function typedError(name: TypedName, typed: string): string | undefined {
  const { kind, max = Number.POSITIVE_INFINITY } = settingOf(name)
  const isWrong = {
    count: () => typed.trim() !== '' && !/^[1-9]\d{0,8}$/.test(typed.trim()),
    list: () => splitEntries(typed).length > max,
    tags: () => splitTags(typed).length > max || splitTags(typed).some((tag) => [...tag].length > KEY_SIZES.tag),
    prose: () => [...typed.trim()].length > max,
  }
  return isWrong[kind]() ? TEXT.typed[name].wrong : undefined
}

/** The sent value. */
export function typedSettings(values: TypedValues): Pick<KeySettings, TypedName> {
  const read = {
    count: (typed: string) => (typed.trim() === '' ? null : Number(typed)),
    list: splitEntries,
    tags: splitTags,
    prose: (typed: string) => typed.trim() || null,
  }
  // The table says which setting is of which kind; the loop loses it.
  return byName((name) => read[settingOf(name).kind](values[name])) as Pick<KeySettings, TypedName>
}

/** Whether the key has one of the settings that few keys have. */
export function hasMore(key: ApiKey): boolean {
  const values = typedValues(key)
  return typedNames('more').some((name) => values[name] !== '')
}

/** A setting by its name on the wire, in the middle of a sentence. */
export function settingName(wireName: string): string {
  const typed = TYPED_NAMES.find((name) => name === wireName)
  return typed ? TEXT.typed[typed].label.toLowerCase() : (TEXT.settingNames[wireName] ?? wireName)
}

/** Tags may contain spaces. */
function splitTags(text: string): string[] {
  const tags = text.split(/[,\n]/).map((tag) => tag.trim())
  return [...new Set(tags.filter((tag) => tag !== ''))]
}

export function splitEntries(text: string): string[] {
  return text.split(/[\s,]+/).filter((entry) => entry !== '')
}

function byName<V>(read: (name: TypedName) => V): Record<TypedName, V> {
  return Object.fromEntries(TYPED_NAMES.map((name) => [name, read(name)])) as Record<TypedName, V>
}
