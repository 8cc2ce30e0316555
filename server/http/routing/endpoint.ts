import type { DocumentDecoration } from 'elysia'
import type { ModelOperationName, Operation } from '../../core/catalog/operation'
import type { Scope } from '../../core/credentials/oauth-grant'
import type { Caller, KnownCaller, Route } from '../../pipeline/call'
import type { GatedContext, RequestContext } from '../middleware/request-context'
import { type Access, type Hook, withCallers } from '../openapi/documented'

/**
 * Who may call a gated endpoint, and what kind of call it is. Declared once, where the endpoint is mounted (`served`, or `declared`
 * alone). The endpoint table, the scope an app needs and the documented security derive from it. `C`: the callers of its handler.
 */
export interface Endpoint<C extends Caller = Caller> {
  readonly route: Exclude<Route, { kind: 'unmatched' }>
  /** The credential a caller needs, for the documentation. */
  readonly access: Access
  /** Its paths, if the router's path does not describe them. */
  readonly pattern?: RegExp
  /** Endpoints that the router mounts with this one, because only their patterns tell them apart. */
  readonly beside?: readonly Endpoint<C>[]
  /** Exists only in types. */
  readonly callers?: C
}

/** A catalog operation, which determines the scope, the price and whether anonymous callers may pay. */
export function operationEndpoint({ name, scope, payable }: Operation): Endpoint {
  const route = { kind: 'priced', operation: name, scope, ...(payable && { payable }) } as const
  return { route, access: payable ? 'key or payment' : 'key' }
}

/** A model call: needs a key, and may have its own rate window in addition to the key's (spec 8). */
export function modelEndpoint(
  operation: ModelOperationName,
  {
    rpm,
    alsoScope,
    pattern,
    beside,
  }: Pick<Endpoint<KnownCaller>, 'pattern' | 'beside'> & { readonly rpm?: number; readonly alsoScope?: Scope } = {},
): Endpoint<KnownCaller> {
  const window = rpm !== undefined && { window: { name: operation, rpm } }
  const route = { kind: 'priced', operation, scope: 'models:use', ...(alsoScope && { alsoScope }), ...window } as const
  return { route, access: 'key', ...(pattern && { pattern }), ...(beside && { beside }) }
}

/** A free endpoint that needs a key, or an app's token with this scope. `name` is its name in the request log. */
export function freeEndpoint(
  name: string,
  scope: Scope | 'any',
  { pattern, appsOnly = false }: { readonly pattern?: RegExp; readonly appsOnly?: boolean } = {},
): Endpoint<KnownCaller> {
  return { route: { kind: 'free', name, scope }, access: appsOnly ? 'app' : 'key', ...(pattern && { pattern }) }
}

/** A free endpoint that needs a key or a payment credential. */
export function paidInEndpoint(name: string, scope: Scope): Endpoint {
  return { route: { kind: 'free', name, scope, takesPayment: true }, access: 'key' }
}

/** A public endpoint, rate-limited by the caller's address. `paymentInBody`: see `Route`. */
export function publicEndpoint(more: { readonly paymentInBody?: true } = {}): Endpoint {
  return { route: { kind: 'public', ...more }, access: 'anybody' }
}

/** Where Elysia mounts all imported operations. Which one a request is for is looked up in the catalog (ADR 23). */
export const API_WILDCARD = '/apis/v1/*'

/** Holds the declaration of a mounted route. A symbol, so that it never appears in the OpenAPI document. */
const ENDPOINT = Symbol('endpoint')

/** Declares a mounted route as this endpoint, beside its documentation. */
export function declared(endpoint: Endpoint, documentation: Hook): Hook {
  const { detail } = withCallers(documentation, endpoint)
  // Elysia's type does not know the symbol.
  return { detail: { ...detail, [ENDPOINT]: endpoint } as DocumentDecoration }
}

/** The endpoint that a mounted route is declared as, and those beside it; none if it has no declaration. */
export function declaredEndpoints(hooks: unknown): readonly Endpoint[] {
  const endpoint = declaredEndpoint(hooks)
  return endpoint ? [endpoint, ...(endpoint.beside ?? [])] : []
}

/** The endpoint that a mounted route is declared as, or null. */
export function declaredEndpoint(hooks: unknown): Endpoint | null {
  const detail: unknown = Reflect.get(Object(hooks), 'detail')
  return (Reflect.get(Object(detail), ENDPOINT) as Endpoint | undefined) ?? null
}

/** What Elysia passes to the handler of a gated endpoint, with the context that the gate authenticated. */
export interface GatedCall<C extends Caller = Caller, Params = unknown> {
  readonly context: GatedContext<C>
  readonly params: Params
}

/**
 * The declaration and handler of a gated endpoint, to mount after its path:
 * `.get('/v1/usage', ...served(REPORT, documented(DOCS, QUERY), handler))`. The handler runs only for calls that were authenticated for
 * this endpoint; others are refused before routing (`request-hooks`). It reads the body itself.
 */
export function served<C extends Caller, R, Params>(
  endpoint: Endpoint<C>,
  documentation: Hook,
  handler: (call: GatedCall<C, Params>) => R,
): readonly [GatedHandler<R, Params>, Hook & { readonly parse: 'none' }] {
  return [handler as GatedHandler<R, Params>, { parse: 'none', ...declared(endpoint, documentation) }]
}

type GatedHandler<R, Params> = (elysia: { readonly context: RequestContext; readonly params: Params }) => R

/** For routes that return plain values: sends the value with all headers of a gated response. */
export function gatedReply({
  context: { reply },
  response,
  set,
}: {
  readonly context: RequestContext
  readonly response: unknown
  readonly set: { readonly status?: number | string | undefined }
}): Response | undefined {
  if (!reply || response instanceof Response) return undefined
  return reply.free(response, { 'cache-control': 'no-store' }, set.status === 201 ? 201 : 200)
}
