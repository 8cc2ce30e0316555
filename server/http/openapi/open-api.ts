import type { JsonSchema } from './json-schema'
import type { OpenApiParameter } from './parameter-documents'

export interface OpenApiExample {
  readonly summary?: string
  readonly value: unknown
}

export interface OpenApiMediaType {
  readonly schema: JsonSchema
  readonly example?: unknown
  readonly examples?: Readonly<Record<string, OpenApiExample>>
}

export interface OpenApiResponse {
  readonly description: string
  readonly headers?: Readonly<Record<string, JsonSchema>>
  readonly content?: Readonly<Record<string, OpenApiMediaType>>
  /** The codes that `error.code` can have, of a failure. */
  readonly 'x-error-codes'?: readonly string[]
  /** The schema of the response to `X-Cost-Mode: quote`, if it differs. */
  readonly 'x-quote'?: JsonSchema
}

/** A component of the document, such as `#/components/responses/Error404`. */
export interface OpenApiReference {
  readonly $ref: string
}

export interface OpenApiBody {
  readonly description?: string
  readonly required: boolean
  readonly content: Readonly<Record<string, OpenApiMediaType>>
}

export interface CodeSample {
  readonly lang: string
  readonly label: string
  readonly source: string
}

/** An operation of OpenAPI 3.1, as far as the gateway writes it. */
export interface OpenApiOperation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description: string
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  readonly parameters?: readonly OpenApiParameter[]
  readonly requestBody?: OpenApiBody
  readonly responses: Readonly<Record<string, OpenApiResponse | OpenApiReference>>
  readonly 'x-price'?: PriceDescriptor
  /** How an imported operation is priced. */
  readonly 'x-api-price'?: object
  /** The least and the most that a success costs, of an operation that can be paid for by itself although its price follows from the answer. */
  readonly 'x-price-limits'?: PriceLimits
  /** Its name in allowlists, prices and reports. */
  readonly 'x-operation'?: string
  /** Ways to pay for a single call. */
  readonly 'x-payment-info'?: { readonly offers: readonly Readonly<Record<string, string>>[] }
  readonly 'x-codeSamples'?: readonly CodeSample[]
}

/** The price descriptor of spec 2.4. */
export interface PriceDescriptor {
  readonly mode: 'fixed'
  readonly currency: 'USD'
  readonly amount: string
}

export interface PriceLimits {
  readonly currency: 'USD'
  readonly minimum: string
  readonly maximum: string
}

/** The part of the document for imported operations. */
export interface ImportedPaths {
  readonly paths: OpenApiDocument['paths']
  readonly schemas: Readonly<Record<string, JsonSchema>>
}

export interface OpenApiDocument {
  readonly openapi: '3.1.0'
  readonly 'x-service-info'?: {
    readonly categories: readonly string[]
    readonly docs: Readonly<Record<string, string>>
  }
  readonly info: {
    readonly title: string
    readonly version: string
    readonly summary: string
    readonly description: string
  }
  readonly servers: readonly { readonly url: string; readonly description: string }[]
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}
