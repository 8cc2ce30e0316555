import type { DocumentDecoration } from 'elysia'
import type { ParameterTable } from '../../core/catalogue/parameters'
import type { FailureCode } from '../../core/failure'
import { formatUsd, type Money } from '../../core/money'
import { failureResponses } from './failure-documents'
import type { JsonSchema } from './json-schema'
import type { OpenApiOperation, OpenApiResponse } from './open-api'
import { type OpenApiParameter, openApiParameters } from './parameter-documents'
import { headerRefs, ID_HEADERS, LIMIT_HEADERS, type ResponseHeader } from './response-headers'

/** The groups that the documents are read in, in this order. */
export const TAGS = {
  Data: 'What is sold: each successful request is charged its price.',
  Social: 'Link a social account to a key, and act as it. Each success is charged its price; linking is free.',
  Models: 'Model inference in the wires of three SDKs, charged by the token.',
  Usage: 'What a key used, what it cost, and what is left. Free.',
  'Sign-in': 'Accounts and sessions of owners. The session travels in a cookie.',
  Account: "The owner's account and its limits. Needs the session cookie; API keys are not looked at.",
  Keys: 'Making and changing API keys. Needs the session cookie.',
  Activity: 'Usage, requests and money over all keys of the account. Needs the session cookie.',
  Apps: 'How an app finds out where to ask an owner for access (OAuth 2.1).',
  Health: 'For load balancers and monitors.',
} as const

/** Who may call: a key or an app; the same, or nobody for the payment challenge; an app only; the owner's session; anybody. */
export type Access = 'key' | 'key or payment' | 'app' | 'session' | 'anybody'

export interface Answer {
  readonly description: string
  readonly schema: JsonSchema
  readonly examples: Readonly<Record<string, unknown>>
  readonly contentType?: string
  readonly headers?: readonly ResponseHeader[]
}

/** What the documents say of a route that is not gated, beside the tables that the route itself judges its input by. */
export interface RouteDocs extends EndpointDocs {
  readonly access: Extract<Access, 'session' | 'anybody'>
}

/** What the documents say of a gated endpoint. Who may call it is in its declaration (`routing/endpoint`). */
export interface EndpointDocs {
  readonly id: string
  readonly tag: keyof typeof TAGS
  readonly summary: string
  readonly description: string
  readonly ids?: Readonly<Record<string, { readonly description: string; readonly example: string }>>
  readonly body?: {
    readonly description: string
    readonly schema: JsonSchema
    readonly required: boolean
    readonly examples: Readonly<Record<string, unknown>>
  }
  readonly answers: Readonly<Record<number, Answer>>
  readonly failures: readonly FailureCode[]
  readonly libraryCodes?: Readonly<Record<number, readonly string[]>>
  readonly price?: Money
  /** The name that a priced route goes by in keys, prices and reports. */
  readonly operation?: string
  /** An upstream's own error may come through, in its own format (spec 7 rule 2). */
  readonly passesUpstreamErrors?: true
}

const SECURITY: Readonly<Record<Access, OpenApiOperation['security']>> = {
  key: [{ apiKey: [] }],
  'key or payment': [{ apiKey: [] }, {}],
  app: [{ oauth: [] }],
  session: [{ session: [] }],
  anybody: [],
}

/** A route's documents, to be given to Elysia beside its handler. They change nothing of what the route does. */
export function documented(docs: RouteDocs, ...tables: readonly ParameterTable[]): { detail: DocumentDecoration } {
  // Elysia's type knows OpenAPI 3.0 only; what is written here is 3.1, and the mended document says so.
  return { detail: operationOf(docs, docs.access, tables) as unknown as DocumentDecoration }
}

/** Keeps a route out of the documents. */
export const UNDOCUMENTED = { detail: { hide: true } } as const

export function operationOf(docs: EndpointDocs, access: Access, tables: readonly ParameterTable[]): OpenApiOperation {
  const gated = access !== 'session' && access !== 'anybody'
  const headers: ResponseHeader[] = [
    ...ID_HEADERS,
    ...(gated ? LIMIT_HEADERS : []),
    ...(docs.price === undefined ? [] : ['X-Cost-Micros-USD' as const]),
  ]
  const parameters: OpenApiParameter[] = [
    ...Object.entries(docs.ids ?? {}).map(([name, { description, example }]) => ({
      name,
      in: 'path' as const,
      description,
      required: true,
      schema: { type: 'string' },
      example,
    })),
    ...tables.flatMap(openApiParameters),
  ]
  const failures = failureResponses(docs.failures, {
    headers,
    ...(docs.price !== undefined && { price: docs.price }),
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
        content: { 'application/json': { schema: docs.body.schema, examples: named(docs.body.examples) } },
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

function success({ description, schema, examples, contentType, headers }: Answer, common: readonly ResponseHeader[]) {
  return {
    description,
    headers: headerRefs([...common, ...(headers ?? [])]),
    content: { [contentType ?? 'application/json']: { schema, examples: named(examples) } },
  }
}

function upstreamError(headers: readonly ResponseHeader[]): OpenApiResponse {
  return {
    description: "An error of the source about this very request, passed on in the source's own format. Not charged.",
    headers: headerRefs(headers),
    content: { 'application/json': { schema: {} } },
  }
}

function named(examples: Readonly<Record<string, unknown>>) {
  return Object.fromEntries(Object.entries(examples).map(([name, value]) => [name, { value }]))
}
