/** A JSON Schema (2020-12), as OpenAPI 3.1 uses it. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** An object whose members are all there, but for those named in `optional`. */
export function record(
  description: string,
  properties: Readonly<Record<string, JsonSchema>>,
  optional: readonly string[] = [],
): JsonSchema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name))
  return { type: 'object', description, properties, ...(required.length > 0 && { required }) }
}

export function listOf(items: JsonSchema, description: string): JsonSchema {
  return { type: 'array', description, items }
}

export function text(description: string, more: JsonSchema = {}): JsonSchema {
  return { type: 'string', description, ...more }
}

export function oneOf(values: readonly string[], description: string): JsonSchema {
  return { type: 'string', description, enum: values }
}

export function whole(description: string, more: JsonSchema = {}): JsonSchema {
  return { type: 'integer', description, ...more }
}

/** Money on the wire: whole millionths of a US dollar. */
export function microsUsd(description: string, more: JsonSchema = {}): JsonSchema {
  return { type: 'integer', description: `${description} In millionths of a US dollar.`, ...more }
}

export function yesOrNo(description: string): JsonSchema {
  return { type: 'boolean', description }
}

export function instant(description: string): JsonSchema {
  return { type: 'string', format: 'date-time', description }
}

/** The same, or null. */
export function orNull(schema: JsonSchema): JsonSchema {
  return {
    ...schema,
    type: [schema['type'], 'null'],
    ...(Array.isArray(schema['enum']) && { enum: [...schema['enum'], null] }),
  }
}

/** A schema of `components.schemas`. */
export function ref(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` }
}
