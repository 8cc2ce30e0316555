/** A JSON object whose members are not known yet. */
export type Json = Readonly<Record<string, unknown>>

/** Whether a parsed value is a JSON object: not null, and no array. */
export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The elements of a JSON array; none for anything else. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
