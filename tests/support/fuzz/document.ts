/** A schema of the served document, with what the generator reads of it. */
export interface Schema {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly maxItems?: number
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly format?: string
  readonly $ref?: string
}

export interface Parameter {
  readonly name: string
  readonly in: 'query' | 'header' | 'path'
  readonly required: boolean
  readonly schema: Schema
  readonly example: unknown
}

/** One operation of `/openapi.json`. */
export interface Operation {
  readonly method: string
  readonly path: string
  readonly parameters: readonly Parameter[]
  readonly body: { readonly schema: Schema; readonly example: unknown } | null
  readonly takes: 'key' | 'session' | 'nothing'
}

interface WireOperation {
  readonly parameters?: readonly Parameter[]
  readonly security?: readonly Record<string, unknown>[]
  readonly requestBody?: {
    readonly content: Record<
      string,
      { readonly schema: Schema; readonly examples?: Record<string, { readonly value: unknown }> }
    >
  }
}

export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, WireOperation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

/** The callable operations, from the server's own document. */
export function operationsOf(document: Document): Operation[] {
  const resolved = (schema: Schema): Schema =>
    schema.$ref ? (document.components.schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {}) : schema
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, { parameters = [], security = [], requestBody }]) => {
      const json = requestBody?.content['application/json']
      const needs = (scheme: string) => security.some((way) => scheme in way)
      return {
        method: method.toUpperCase(),
        path,
        parameters,
        body: json
          ? { schema: resolved(json.schema), example: Object.values(json.examples ?? {})[0]?.value ?? {} }
          : null,
        takes: needs('apiKey') || needs('oauth') ? 'key' : needs('session') ? 'session' : 'nothing',
      } as const
    }),
  )
}
