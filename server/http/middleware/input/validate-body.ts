import type { Static, TObject } from '@sinclair/typebox'
import { accepted, invalidParameter, missingParameter, type Submitted } from '../../../core/accounts/submitted'
import type { ParameterError } from '../../../core/catalog/parameters'
import { brokenRule } from '../../openapi/json-schema'
import { taken } from '../response/failures'
import type { BodySource } from './intake'
import { type BodySize, readJson } from './json-body'

const MAX_NAME = 60

/**
 * Validates a body against its schema. Elysia would stop at the first error and silently drop unknown properties; this lists every
 * property that is missing, invalid or unknown, and returns the valid ones.
 */
export function validateBody<T extends TObject>(schema: T, body: unknown): Submitted<Static<T>> {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    return { isWhole: false, form: {}, errors: [invalidParameter('body', 'must be a JSON object', body)] }
  const errors: ParameterError[] = []
  const form: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(schema.properties)) {
    if (Object.hasOwn(body, name)) {
      const value: unknown = Reflect.get(body, name)
      const broken = brokenRule(member, value)
      if (broken === null) form[name] = value
      else errors.push(invalidParameter(name, broken, value))
    } else if (schema.required?.includes(name)) errors.push(missingParameter(name))
  }
  for (const [name, value] of Object.entries(body))
    if (!Object.hasOwn(schema.properties, name))
      errors.push(invalidParameter(name.slice(0, MAX_NAME), 'is not a known property', value))
  // Every property was validated against its own schema.
  return errors.length > 0 ? { isWhole: false, form, errors } : { isWhole: true, form: form as Static<T>, errors: [] }
}

/**
 * Reads and validates the body of a request. A missing body is read as `unsent`. Throws one failure that lists every violated rule.
 */
export async function readBody<T extends TObject>(
  schema: T,
  source: BodySource,
  unsent?: unknown,
  size?: BodySize,
): Promise<Static<T>> {
  const body = taken(await readJson(source, size))
  return taken(accepted(validateBody(schema, body === undefined ? unsent : body)))
}

/** Unwraps the result of a parser for a value that its schema has already validated. */
export function readable<T>(value: T | null): T {
  if (value === null) throw new Error('a value passed its schema, but its parser rejected it')
  return value
}
