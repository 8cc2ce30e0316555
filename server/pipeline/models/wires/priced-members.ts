import { isJson, type Json, jsonText } from '../../../core/json'

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
  let found = NOTHING
  for (const name in json) {
    const value = json[name]
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined
    if (value === null || rule === COVERED) continue
    const those = rule ? rule(value, path + name) : [path + shortName(name)]
    if (those.length > 0) found = [...found, ...those]
  }
  return found
}

/** A name from a body, shortened for a message. */
export function shortName(name: unknown): string {
  return jsonText(name).slice(0, 60)
}
