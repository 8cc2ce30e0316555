import { elementsOf, isJson, type Json } from '../../core/json'

/** The way to a part of a value. */
export interface Path {
  readonly parent: Path | null
  readonly key: string | number
}

export interface Problem {
  readonly path: Path | null
  readonly message: string
}

/** The problems of a value by the keywords that concern it alone: its type, range, length and size (JSON Schema 2020-12, validation 6). */
const ARTICLES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  integer: 'an integer',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
  null: 'null',
}

export function typeProblem(schema: Json, value: unknown): string | null {
  const { type: declared } = schema
  if (declared === undefined || (typeof declared === 'string' && isOfType(declared, value))) return null
  return typesProblem(declared, value)
}

function typesProblem(declared: unknown, value: unknown): string | null {
  const types = typeof declared === 'string' ? [declared] : elementsOf(declared)
  if (types.some((type) => isOfType(type, value))) return null
  const names = types.map((type) => (typeof type === 'string' && ARTICLES[type]) || 'of an unknown type')
  return `must be ${names.join(' or ')}`
}

function isOfType(type: unknown, value: unknown): boolean {
  switch (type) {
    case 'integer':
      return Number.isInteger(value)
    case 'null':
      return value === null
    case 'array':
      return Array.isArray(value)
    case 'object':
      return isJson(value)
    case 'string':
    case 'number':
    case 'boolean':
      return typeof value === type
    default:
      return false
  }
}

export function numberProblem(schema: Json, value: number): string | null {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema
  if (typeof minimum === 'number' && value < minimum) return `must be at least ${minimum}`
  if (typeof maximum === 'number' && value > maximum) return `must be at most ${maximum}`
  if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum) {
    return `must be greater than ${exclusiveMinimum}`
  }
  if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum) return `must be less than ${exclusiveMaximum}`
  if (typeof multipleOf === 'number' && !isMultiple(value, multipleOf)) return `must be a multiple of ${multipleOf}`
  return null
}

/** 0.3 is a multiple of 0.1, though not in binary. */
function isMultiple(value: number, of: number): boolean {
  const quotient = value / of
  if (!Number.isFinite(quotient)) return false
  return Math.abs(quotient - Math.round(quotient)) <= 1e-9 * Math.max(1, Math.abs(quotient) * 1e-3)
}

export function textProblem(schema: Json, value: string): string | null {
  const { minLength, maxLength } = schema
  if (typeof minLength === 'number' && (value.length < minLength || codePoints(value, minLength) < minLength)) {
    return `must have at least ${count(minLength, 'character')}`
  }
  if (typeof maxLength === 'number' && value.length > maxLength && codePoints(value, maxLength + 1) > maxLength) {
    return `must have at most ${count(maxLength, 'character')}`
  }
  return null
}

/** The number of characters, counted up to `enough`. */
function codePoints(text: string, enough: number): number {
  let count = 0
  for (const _ of text) if (++count >= enough) break
  return count
}

export function sizeProblem(schema: Json, value: Json, size: number, path: Path | null): Problem | null {
  const { minProperties, maxProperties } = schema
  for (const name of elementsOf(schema['required'])) {
    if (typeof name === 'string' && !Object.hasOwn(value, name)) {
      return { path, message: `must have the member ${name}` }
    }
  }
  if (typeof minProperties === 'number' && size < minProperties) return atLeast(minProperties, 'member', path)
  if (typeof maxProperties === 'number' && size > maxProperties) return atMost(maxProperties, 'member', path)
  return null
}

export function atLeast(number: number, noun: string, path: Path | null): Problem {
  return { path, message: `must have at least ${count(number, noun)}` }
}

export function atMost(number: number, noun: string, path: Path | null): Problem {
  return { path, message: `must have at most ${count(number, noun)}` }
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
