import type { DocumentDecoration } from 'elysia'
import type { ParameterTable } from '../../core/catalog/parameters'
import type { FailureCode } from '../../core/failure'
import { formatUsd, type Money } from '../../core/money'
import type { ErrorFormat } from './error-format'
import { failureResponses } from './failure-documents'
import { type JsonSchema, ref } from './json-schema'
import type { OpenApiOperation, OpenApiResponse } from './open-api'
import { type OpenApiParameter, openApiParameters } from './parameter-documents'
import { headerRefs, ID_HEADERS, LIMIT_HEADERS, type ResponseHeader } from './response-headers'
import { responseExamples } from './schema-example'

/** The groups of the documentation, in display order. */
export const TAGS = {
  Data: 'Search and data endpoints. Each successful request is charged its price.',
  Catalog:
    'Operations of APIs that the operator of this gateway put on sale. `GET /v1/catalog` searches them. Each successful request is charged its price.',
  Social:
    'Link a social account to a key and act on its behalf. Each successful request is charged its price; linking is free.',
  Models:
    'Model inference, compatible with the SDKs of OpenAI, Anthropic and Google. Charged per token, character or picture.',
  Usage: 'What a key has used, what it cost and what is left. Free.',
  'Sign-in': 'Sign-up, sign-in and sessions. The session is stored in a cookie.',
  Account: "The owner's account and its limits. Needs the session cookie; API keys are ignored.",
  Keys: 'Create and manage API keys. Needs the session cookie.',
  Activity: 'Usage, requests and money across all keys of the account. Needs the session cookie.',
  Events: 'Webhooks and notices: what happens to the account. Needs the session cookie.',
  Operator: 'APIs that operators of this gateway put on sale. Needs the session cookie of an operator.',
  Apps: 'How an app discovers where to request access (OAuth 2.1).',
  Health: 'For load balancers and monitors.',
} as const

/** The callers: a key or an app; those or an anonymous caller who pays; an app only; the owner's session; anybody. */
export type Access = 'key' | 'key or payment' | 'app' | 'session' | 'anybody'

export interface ResponseDocs {
  readonly description: string
  readonly schema: JsonSchema
  /** Derived from the schema if absent. */
  readonly examples?: Readonly<Record<string, unknown>>
  readonly contentType?: string
  readonly headers?: readonly ResponseHeader[]
  /** `X-Cost-Mode: quote` gets a `Quote` instead. Not part of the schema: generated clients would return a union. */
  readonly canBeQuote?: true
}

interface PathId {
  readonly description: string
  readonly example: string
  readonly pattern?: string
}

/** Documents a route. Its callers are part of its declaration (`routing/`), its parameters come from the tables that validate its input. */
export interface EndpointDocs {
  readonly id: string
  readonly tag: keyof typeof TAGS
  readonly summary: string
  readonly description: string
  readonly ids?: Readonly<Record<string, PathId>>
  readonly body?: {
    readonly description: string
    readonly schema: JsonSchema
    readonly required: boolean
    readonly examples: Readonly<Record<string, unknown>>
    /** JSON if absent. */
    readonly contentType?: 'multipart/form-data'
  }
  readonly answers: Readonly<Record<number, ResponseDocs>>
  readonly failures: readonly FailureCode[]
  /** The shape of its errors; `gateway` if absent. */
  readonly errorFormat?: ErrorFormat
  /** Statuses whose errors have another shape than the rest, since only some ids lead to them. */
  readonly errorFormats?: Readonly<Record<number, ErrorFormat>>
  readonly libraryCodes?: Readonly<Record<number, readonly string[]>>
  readonly price?: Money
  /** The name of a priced route in allowlists, prices and reports. */
  readonly operation?: string
  /** An upstream's own error may be passed through in its own format (spec 7 rule 2). */
  readonly passesUpstreamErrors?: true
}

/** A body that must be sent. */
export function requestBody(description: string, schema: JsonSchema, examples: Readonly<Record<string, unknown>>) {
  return { description, schema, required: true, examples }
}

/** The answer that is a file, with the beginning of one as its example. */
export function fileAnswer(contentType: string, example: string) {
  const schema = { type: 'string' }
  const headers: readonly ResponseHeader[] = ['Content-Disposition']
  return { description: 'The file.', schema, examples: { file: example }, contentType, headers }
}

/** Every route counts in a window of its caller. */
const FULL_WINDOW: FailureCode = 'rate_limit_exceeded'
const JSON_TYPE = 'application/json'

const SECURITY: Readonly<Record<Access, OpenApiOperation['security']>> = {
  key: [{ apiKey: [] }],
  'key or payment': [{ apiKey: [] }, {}],
  app: [{ oauth: [] }],
  session: [{ session: [] }],
  anybody: [],
}

/** Who may call a route. */
export interface Callers {
  readonly access: Access
  /** How others are refused, by the route's method. */
  refusals?(method: string): readonly FailureCode[]
}

/** The declaration of a route: its callers, its cost, and its documents. */
export interface Declaration {
  readonly docs?: EndpointDocs
  readonly tables?: readonly ParameterTable[]
  readonly callers?: Callers
  /** Answers the calls of an endpoint, which are authenticated first (`middleware/gated-paths.ts`). */
  readonly handler?: (call: never) => unknown
  /** How many units of its caller's window a request takes (`routing/cost.ts`). */
  readonly cost?: number | ((url: URL) => number)
}

/** The options that Elysia takes with a route's handler. It keeps `declaration` with the mounted route, and does not read it. */
export interface Hook {
  readonly detail: DocumentDecoration
  readonly declaration: Declaration
}

/**
 * A route's documentation, passed to Elysia with its handler. It does not change what the route does, and costs nothing until somebody
 * asks for the document (`describeRoutes`).
 */
export function documented(docs: EndpointDocs, ...tables: readonly ParameterTable[]): Hook {
  return { detail: {}, declaration: { docs, tables } }
}

/** Keeps a route out of the documents. */
export const UNDOCUMENTED: Hook = { detail: { hide: true }, declaration: {} }

/** The hook with more that its route declares. */
export function declaring({ detail, declaration }: Hook, more: Declaration): Hook {
  return { detail: { ...detail }, declaration: { ...declaration, ...more } }
}

/** What a mounted route declares. */
export function readDeclaration(hooks: unknown): Declaration {
  return (Reflect.get(Object(hooks), 'declaration') as Declaration | undefined) ?? {}
}

/** Describes all mounted routes, for @elysiajs/swagger to collect. */
export function describeRoutes(mounted: readonly { readonly method: string; readonly hooks: unknown }[]): void {
  for (const { method, hooks } of mounted) {
    const { docs, tables = [], callers = ANYBODY } = readDeclaration(hooks)
    if (!docs) continue
    const failures = [...docs.failures, ...(callers.refusals?.(method) ?? [])]
    const detail: object = Object(Reflect.get(Object(hooks), 'detail'))
    Object.assign(detail, operationOf({ ...docs, failures }, callers.access, tables))
  }
}

const ANYBODY: Callers = { access: 'anybody' }

export function operationOf(docs: EndpointDocs, access: Access, tables: readonly ParameterTable[]): OpenApiOperation {
  const isProbe = docs.tag === 'Health'
  const headers: ResponseHeader[] = [
    ...ID_HEADERS,
    ...(isProbe ? [] : LIMIT_HEADERS),
    ...(docs.price === undefined ? [] : ['X-Cost-Micros-USD' as const]),
  ]
  const parameters: OpenApiParameter[] = [
    ...Object.entries(docs.ids ?? {}).map(([name, { description, example, pattern }]) => ({
      name,
      in: 'path' as const,
      description,
      required: true,
      schema: { type: 'string', ...(pattern && { pattern }) },
      example,
    })),
    ...tables.flatMap(openApiParameters),
  ]
  const failures = failureResponses(isProbe ? docs.failures : [...new Set([...docs.failures, FULL_WINDOW])], {
    headers,
    ...(docs.price !== undefined && { price: docs.price }),
    ...(docs.errorFormat && { format: docs.errorFormat }),
    ...(docs.errorFormats && { formats: docs.errorFormats }),
    ...(docs.libraryCodes && { libraryCodes: docs.libraryCodes }),
  })
  const answers = Object.entries(docs.answers).map(([status, answer]) => [status, success(answer, headers)])
  return {
    operationId: docs.id,
    tags: [docs.tag],
    summary: docs.summary,
    description: docs.description,
    security: SECURITY[access],
    ...(parameters.length > 0 && { parameters }),
    ...(docs.body && {
      requestBody: {
        description: docs.body.description,
        required: docs.body.required,
        content: {
          [docs.body.contentType ?? JSON_TYPE]: { schema: docs.body.schema, examples: named(docs.body.examples) },
        },
      },
    }),
    responses: {
      ...Object.fromEntries(answers),
      ...failures,
      ...(docs.passesUpstreamErrors && { default: upstreamError(headers) }),
    },
    ...(docs.price !== undefined && {
      'x-price': { mode: 'fixed', currency: 'USD', amount: formatUsd(docs.price) },
    }),
    ...(docs.operation !== undefined && { 'x-operation': docs.operation }),
  }
}

function success(
  { description, schema, examples, contentType, headers, canBeQuote }: ResponseDocs,
  common: readonly ResponseHeader[],
) {
  return {
    description,
    headers: headerRefs([...common, ...(headers ?? [])]),
    ...(canBeQuote && { 'x-quote': ref('Quote') }),
    content: {
      [contentType ?? JSON_TYPE]: { schema, examples: named(examples ?? responseExamples(schema)) },
      // A result that is not JSON differs from its quote by the content type.
      ...(canBeQuote && contentType !== undefined && { [JSON_TYPE]: { schema: ref('Quote') } }),
    },
  }
}

function upstreamError(headers: readonly ResponseHeader[]): OpenApiResponse {
  return {
    description: "An upstream error about this request, passed through in the provider's own format. Not charged.",
    headers: headerRefs(headers),
    content: { 'application/json': { schema: {} } },
  }
}

function named(examples: Readonly<Record<string, unknown>>) {
  return Object.fromEntries(Object.entries(examples).map(([name, value]) => [name, { value }]))
}
