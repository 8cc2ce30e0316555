import { Kind } from '@sinclair/typebox'
import type { JsonSchema } from './json-schema'

/** JSON that another program generated, before it is validated. */
export type Loose = Readonly<Record<string, unknown>>

const RESPONSE_MEMBERS = ['description', 'headers', 'content', 'links']
const COERCED = ['numeric', 'boolean', 'integer', 'ObjectString', 'ArrayString']

/**
 * One operation of @elysiajs/swagger 1.3.1, made valid for OpenAPI 3.1: every response has a description, a 204 has no body,
 * a JSON body is listed once instead of under three media types, and Elysia's own schema kinds become plain JSON Schema.
 */
export function normalizedOperation(operation: Loose): Loose {
  const { parameters, requestBody, responses } = operation
  const listed = Object.entries(isLoose(responses) ? responses : {})
  return {
    ...operation,
    ...(Array.isArray(parameters) && { parameters: parameters.map(normalizedParameter) }),
    ...(isLoose(requestBody) && { requestBody: { ...requestBody, content: oneMediaType(requestBody['content']) } }),
    responses: Object.fromEntries(
      (listed.length > 0 ? listed : [['200', {}] as const]).map(([status, response]) => [
        status,
        normalizedResponse(status, isLoose(response) ? response : {}),
      ]),
    ),
  }
}

function normalizedParameter(parameter: unknown): unknown {
  if (!isLoose(parameter)) return parameter
  const { examples: _notAMap, ...rest } = parameter
  return { ...rest, ...(isLoose(rest['schema']) && { schema: normalizedSchema(rest['schema']) }) }
}

function normalizedResponse(status: string, response: Loose): Loose {
  if ('$ref' in response) return { $ref: response['$ref'] }
  const known = Object.entries(response).filter(([name]) => RESPONSE_MEMBERS.includes(name) || name.startsWith('x-'))
  const { content, ...rest } = Object.fromEntries(known)
  const hasBody = content !== undefined && status !== '204'
  return {
    ...rest,
    description: rest['description'] || `Status ${status}`,
    ...(hasBody && { content: oneMediaType(content) }),
  }
}

/** Content types other than JSON that routes name themselves. */
const OWN_TYPES = ['application/problem+json', 'audio/*']

/** The plugin lists every schema as JSON, form and text. Only file uploads are forms. */
function oneMediaType(content: unknown): Loose {
  if (!isLoose(content)) return {}
  const form = content['multipart/form-data']
  const keep =
    form !== undefined && JSON.stringify(form).includes('"binary"') ? 'multipart/form-data' : 'application/json'
  const named = Object.fromEntries(OWN_TYPES.flatMap((type) => (content[type] ? [[type, content[type]]] : [])))
  const kept = content[keep] === undefined ? content : { [keep]: content[keep], ...named }
  return Object.fromEntries(
    Object.entries(kept).map(([type, media]) => [
      type,
      isLoose(media) && isLoose(media['schema']) ? { ...media, schema: normalizedSchema(media['schema']) } : media,
    ]),
  )
}

/** Completes bare `$ref`s, turns `nullable` into a type, and replaces unions for coercion with the intended type. */
export function normalizedSchema(schema: JsonSchema): JsonSchema {
  const {
    $id: _own,
    nullable,
    ...rest
  } = Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [
      name,
      name === 'example' || name === 'default' ? value : deep(value),
    ]),
  )
  const { $ref, anyOf, type } = rest
  if (typeof $ref === 'string' && !$ref.includes('/')) rest['$ref'] = `#/components/schemas/${$ref}`
  if (nullable && typeof type === 'string') rest['type'] = [type, 'null']
  return Array.isArray(anyOf) ? normalizedUnion(rest, anyOf) : rest
}

function normalizedUnion(schema: Loose, members: readonly unknown[]): JsonSchema {
  const { anyOf: _members, ...base } = schema
  const meant = members.filter(isLoose).filter((member) => !isCoerced(member))
  const [first] = meant
  if (meant.length < members.length && meant.length === 1) return { ...base, ...first }
  if (first && meant.every((member) => 'const' in member))
    return { ...base, type: typeof first['const'], enum: meant.map((member) => member['const']) }
  return { ...base, anyOf: meant }
}

function isCoerced(member: Loose): boolean {
  return member['type'] === 'string' && COERCED.includes(String(member['format']))
}

function deep(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(deep)
  return isLoose(value) ? normalizedSchema(value) : value
}

/**
 * A document whose texts are safe in comments: code generators put them there, and `*` followed by `/` ends a comment in Go, Java and
 * TypeScript. Imported operations bring texts of their own.
 */
export function withSafeTexts<T>(node: T): T {
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(walk)
    if (!isLoose(value)) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [
        name,
        typeof member === 'string' && COMMENTED.has(name) ? member.replaceAll('*/', '*\u200b/') : walk(member),
      ]),
    )
  }
  return walk(node) as T // only texts changed
}

const COMMENTED: ReadonlySet<string> = new Set(['description', 'summary', 'title'])

export function isLoose(value: unknown): value is Loose {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Moves the named schemas out of a document and replaces each use with a reference to `components.schemas`. Data in examples that
 * only looks like a schema stays: real schemas carry TypeBox's marker.
 */
export function extractNamed<T>(node: T): { readonly node: T; readonly schemas: Readonly<Record<string, JsonSchema>> } {
  const schemas: Record<string, JsonSchema> = {}
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(walk)
    if (!isLoose(value)) return value
    const { $id: name, ...rest } = value
    const copy = Object.fromEntries(Object.entries(rest).map(([key, member]) => [key, walk(member)]))
    if (typeof name !== 'string' || !(Kind in value)) return name === undefined ? copy : { $id: name, ...copy }
    if (schemas[name] && JSON.stringify(schemas[name]) !== JSON.stringify(copy))
      throw new Error(`two different schemas are named ${name}`)
    schemas[name] = copy
    return { $ref: `#/components/schemas/${name}` }
  }
  // The copy has the same shape, except for the references.
  return { node: walk(node) as T, schemas }
}
