import type { Api, ApiMethod, ApiOperation, ApiPrice, UpstreamAuth, UpstreamSecret } from '../api'

/** A secret as an operator gives it: a variable's name, the text itself, which is sealed before it is stored, or the stored one. */
export type GivenSecret =
  | Extract<UpstreamSecret, { from: 'environment' }>
  | { readonly from: 'text'; readonly text: string }
  | { readonly from: 'stored' }

type WithGivenSecret<A> = A extends { readonly secret: UpstreamSecret }
  ? Omit<A, 'secret'> & { readonly secret: GivenSecret }
  : A

/** How to authenticate to an upstream, as an operator gives it. */
export type GivenAuth = WithGivenSecret<UpstreamAuth>

type Assigned = 'name' | 'id' | 'priceVersion' | 'toolName'

/** An operation as an operator writes it. Absent members have defaults. */
export type OperationForm = Partial<Omit<ApiOperation, Assigned>> & {
  readonly id: string
  readonly method: ApiMethod
  readonly path: string
  readonly price: ApiPrice
}

/** Changes of the operation with this id. Of one that is new, also its method, path and price. */
export type OperationChange = Partial<Omit<ApiOperation, Assigned>> & { readonly id: string }

type Settings = Pick<
  Api,
  'title' | 'description' | 'timeoutMs' | 'concurrency' | 'cacheSeconds' | 'headers' | 'enabled'
>

/** A whole API as an operator writes it. */
export type ApiForm = Partial<Settings> & {
  readonly name: string
  readonly baseUrl: string
  readonly auth: GivenAuth
  readonly operations: readonly OperationForm[]
}

/** Changes of an API. Operations are found by their ids; those that are not named stay. */
export type ApiChange = Partial<Settings> & {
  readonly baseUrl?: string
  readonly auth?: GivenAuth
  readonly operations?: readonly OperationChange[]
  /** Ids of operations to remove. */
  readonly without?: readonly string[]
}

/** An OpenAPI document to put on sale, or to import again. */
export interface ImportForm extends Partial<Settings> {
  readonly name: string
  readonly baseUrl: string
  readonly auth: GivenAuth
  readonly document: string
  readonly origin?: string
  readonly only?: readonly string[]
  /** The price of every operation that has none yet. Without it, such operations are refused by name. */
  readonly price?: ApiPrice
  /** The price of one operation, by id or as `GET /v1/forecast`. */
  readonly prices?: Readonly<Record<string, ApiPrice>>
}
