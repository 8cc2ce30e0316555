import { isJson, type Json } from '../../../core/json'

/** The parts of a member's value that no token price covers, as paths such as `tools.web_search_20250305`. */
export type MemberRule = (value: unknown, path: string) => readonly string[]

/** Rules by the name of the member. What has no rule is not covered. */
export type MemberRules = Readonly<Record<string, MemberRule>>

/** Covered, whatever it says: the vendor bills its tokens and nothing else. */
export const COVERED: MemberRule = () => []

/** Covered with these values only; others change what a token costs, or what is billed beside tokens. */
export function only(...values: readonly unknown[]): MemberRule {
  return (value, path) => (values.includes(value) ? [] : [path])
}

/** Covered as far as its own members are. */
export function objectOf(rules: MemberRules): MemberRule {
  return (value, path) => (isJson(value) ? uncovered(value, rules, `${path}.`) : [])
}

/** Covered while it is empty. */
export const EMPTY: MemberRule = (value, path) => (Array.isArray(value) && value.length === 0 ? [] : [path])

/**
 * The members of an object that no token price covers. A member that is null counts as absent. An unknown name is not covered:
 * vendors add members that bill by themselves, and compatible servers have more of them.
 */
export function uncovered(json: Json, rules: MemberRules, path = ''): readonly string[] {
  return Object.entries(json).flatMap(([name, value]) => {
    if (value === null) return []
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined
    return rule ? rule(value, path + name) : [path + shown(name)]
  })
}

/** A name from a body, as far as it goes into a message. */
export function shown(name: unknown): string {
  return String(name).slice(0, 60)
}
