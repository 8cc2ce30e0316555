import type { ImportedName } from '../catalog/operation'
import type { PriceId } from '../ids'
import type { Money } from '../money'

/** A slug that names an API in paths and operation names: `weather`. No built-in path below `/apis/v1` has it. */
export const API_NAME = /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/

/** The part of an operation's name after the API's. */
export const OPERATION_ID = /^[A-Za-z0-9_-]{1,64}$/

export const API_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
export type ApiMethod = (typeof API_METHODS)[number]

/** A JSON Schema of draft 2020-12, with local references to its own `$defs` only. */
export type DataSchema = boolean | Readonly<Record<string, unknown>>

/** A secret of the operator: the name of an environment variable (`UPSTREAM_*`), or sealed in the database. */
export type UpstreamSecret =
  | { readonly from: 'environment'; readonly name: string }
  | { readonly from: 'database'; readonly sealed: string }

/** How the gateway authenticates itself to the upstream. The caller's own credential never leaves the gateway. */
export type UpstreamAuth =
  | { readonly kind: 'none' }
  | { readonly kind: 'header' | 'query'; readonly name: string; readonly secret: UpstreamSecret }
  | { readonly kind: 'bearer'; readonly secret: UpstreamSecret }
  /** The secret is `user:password`. */
  | { readonly kind: 'basic'; readonly secret: UpstreamSecret }
  /** Client credentials (RFC 6749 4.4). */
  | {
      readonly kind: 'oauth2'
      readonly tokenUrl: string
      readonly clientId: string
      readonly secret: UpstreamSecret
      readonly scope: string | null
    }
  /** Each call is paid for by the operator's wallet. Its limits are part of the declaration. */
  | { readonly kind: '402'; readonly payees: readonly string[] }

/** An API on sale (spec D12). Immutable: a change makes a new one, and calls in progress keep theirs. */
export interface Api {
  readonly name: string
  readonly title: string
  readonly description: string
  /** Absolute, without query, fragment, credentials or trailing slash. Every call goes to this origin, below this path. */
  readonly baseUrl: string
  readonly auth: UpstreamAuth
  readonly timeoutMs: number
  /** Calls at once, over all accounts. One account gets at most half of them. */
  readonly concurrency: number
  /** How long answers of reads are kept; 0 for never. */
  readonly cacheSeconds: number
  /** Sent with every call. */
  readonly headers: Readonly<Record<string, string>>
  readonly enabled: boolean
  readonly operations: readonly ApiOperation[]
  readonly createdAt: number
  readonly updatedAt: number
}

export interface ApiOperation {
  /** `{api}.{id}`, in allowlists, usage and prices. */
  readonly name: ImportedName
  readonly id: string
  readonly method: ApiMethod
  /** A template such as `/v1/cities/{city}/forecast`. */
  readonly path: string
  readonly title: string
  readonly description: string
  readonly parameters: readonly ApiParameter[]
  readonly body: ApiBody | null
  readonly success: SuccessRule
  readonly price: ApiPrice
  /** The id of the stored price. Goes into every charge, so that a later change of the price explains no earlier charge. */
  readonly priceVersion: PriceId
  /** The operator's cost of a call, where it is known, for reports on margin. Null: not known. */
  readonly upstreamCost: Money | null
  /**
   * Whether callers without an account may pay for a call (spec D12). A payment may turn out not to settle after the upstream was
   * asked. Null: where the upstream wants no credential.
   */
  readonly payPerRequest: boolean | null
  readonly effect: 'read' | 'write'
  /** The header that carries our request id to the upstream, for upstreams that deduplicate writes. */
  readonly idempotencyHeader: string | null
  /** 4xx statuses that say that a write did nothing. They free its `Idempotency-Key`. */
  readonly refusedStatuses: readonly number[]
  /** `stream`: bytes are passed on as they come. */
  readonly answer: 'whole' | 'stream'
  /** Further request headers that are passed up, and response headers that are passed down, in lower case. */
  readonly headersUp: readonly string[]
  readonly headersDown: readonly string[]
  readonly examples: readonly ApiExample[]
  /** The name of its MCP tool. Stored at the first import and never given to another operation. */
  readonly toolName: string
  readonly enabled: boolean
}

export interface ApiParameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly description: string
  readonly schema: DataSchema
  /** How a list or an object is written (OpenAPI 3.1, `style` and `explode`). `json`: the text is JSON (`content`). */
  readonly style: 'simple' | 'label' | 'matrix' | 'form' | 'deepObject' | 'spaceDelimited' | 'pipeDelimited' | 'json'
  readonly explode: boolean
  /** Sent when the caller omits it. Always set where the maximum price follows from this parameter. */
  readonly default?: unknown
}

export interface ApiBody {
  readonly contentType: 'application/x-www-form-urlencoded' | 'multipart/form-data' | JsonType
  readonly required: boolean
  readonly schema: DataSchema
  /** How fields of a form are written, by name. Without it each element of a list is a field, and an object is JSON. */
  readonly encoding?: Readonly<Record<string, FieldEncoding>>
}

/** The content type of a body that is JSON, such as `application/merge-patch+json`. */
export type JsonType = 'application/json' | `application/${string}+json`
export const JSON_TYPE = /^application\/(?:json|[a-z0-9][\w.-]{0,80}\+json)$/

export function isJsonBody({ contentType }: Pick<ApiBody, 'contentType'>): boolean {
  return contentType !== 'application/x-www-form-urlencoded' && contentType !== 'multipart/form-data'
}

/** As a query parameter is written. */
export type FieldEncoding = Pick<ApiParameter, 'explode'> & { readonly style: (typeof FIELD_STYLES)[number] }
export const FIELD_STYLES = ['form', 'deepObject', 'spaceDelimited', 'pipeDelimited', 'json'] as const

export interface ApiExample {
  readonly title: string
  /** Parameters by name; a body under `body`. */
  readonly input: Readonly<Record<string, unknown>>
}

/** When an answer of the upstream is a success, which is charged: its status, and all conditions on its JSON. */
export interface SuccessRule {
  readonly minStatus: number
  readonly maxStatus: number
  readonly conditions: readonly SuccessCondition[]
}

export type SuccessCondition =
  | { readonly pointer: string; readonly equals: string | number | boolean | null }
  | { readonly pointer: string; readonly notEmpty: true }

/** Where a figure of an answer is read. A pointer (RFC 6901) leads to a list, whose length counts, or to a number. */
export type Figure =
  | { readonly kind: 'pointer'; readonly pointer: string }
  | { readonly kind: 'header'; readonly name: string }
  | { readonly kind: 'characters' | 'kilobytes' | 'events' }
  /** The payment to the upstream for the call, in micro-USD. */
  | { readonly kind: 'paid' }

/** The maximum number of units: a number, or an integer query parameter that is declared with minimum, maximum and default. */
export type UnitBound = number | { readonly parameter: string }

/** The price of a call. The maximum always follows from the price or from the request: it is held before the upstream is called. */
export type ApiPrice =
  | { readonly mode: 'fixed'; readonly amount: Money }
  | {
      readonly mode: 'units'
      /** The price of one block of units. Broken blocks count as whole ones. */
      readonly amount: Money
      readonly figure: Figure
      readonly block: number
      /** Units that are charged at least, and at most. */
      readonly minimum: number
      readonly maximum: UnitBound
      /** Units of a write whose figure is missing or wrong. A read is then a 502 and free; null only on reads. */
      readonly onMissing: number | null
    }
  | {
      readonly mode: 'reported'
      readonly figure: Figure
      readonly unit: 'usd' | 'cents' | 'micros'
      /** An exact decimal such as `1.2`. */
      readonly multiplier: string
      readonly minimum: Money
      readonly maximum: Money
      readonly onMissing: Money | null
    }

export function importedName(api: string, id: string): ImportedName {
  return `${api}.${id}`
}
