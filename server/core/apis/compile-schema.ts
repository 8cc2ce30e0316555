import type { DataSchema } from './api'

/**
 * Checks a JSON value against a schema: null, or the first problem without the value, such as `/items/0/name must be a string`. A
 * problem of the value as a whole has no pointer: `must be an object`. The work is bounded, whatever the schema and the value.
 */
export type CompileSchema = (schema: DataSchema) => (value: unknown) => string | null
