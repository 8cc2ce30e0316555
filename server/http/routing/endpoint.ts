import type { DocumentDecoration } from 'elysia'
import type { ModelOperationName, Operation } from '../../core/catalogue/operation'
import type { ParameterTable } from '../../core/catalogue/parameters'
import type { Scope } from '../../core/credentials/oauth-grant'
import type { Caller, KnownCaller, Route } from '../../pipeline/call'
import type { GatedContext, RequestContext } from '../middleware/request-context'
import { type Access, type EndpointDocs, operationOf } from '../openapi/documented'

/**
 * Who may call a gated endpoint, and what its calls are. It is said once, where the endpoint is mounted (`served`, or `declared` alone): the table of
 * endpoints, the scope that an app needs and the security of the documents come from it. `C`: who its handler can be called by.
 */
export interface Endpoint<C extends Caller = Caller> {
  readonly route: Exclude<Route, { kind: 'unmatched' }>
  /** What a caller shows, for the documents. */
  readonly access: Access
  /** Which paths are its own, where that is not what the router's own path says. */
  readonly pattern?: RegExp
  /** In types alone. */
  readonly callers?: C
}

/** An operation of the catalogue: its scope, its price and whether nobody known may pay for it are the operation's. */
export function operationEndpoint({ name, scope, payable }: Operation): Endpoint {
  const route = { kind: 'priced', operation: name, scope, ...(payable && { payable }) } as const
  return { route, access: payable ? 'key or payment' : 'key' }
}

/** A call of a model: with a key only, and, where it has one, a window beside the key's (spec 8). */
export function modelEndpoint(
  operation: ModelOperationName,
  { rpm, pattern }: { readonly rpm?: number; readonly pattern?: RegExp } = {},
): Endpoint<KnownCaller> {
  const window = rpm !== undefined && { window: { name: operation, rpm } }
  const route = { kind: 'priced', operation, scope: 'models:use', ...window } as const
  return { route, access: 'key', ...(pattern && { pattern }) }
}

/** A free endpoint that needs a key, or an app's token with this scope. `name` is the one that it has in the log. */
export function freeEndpoint(
  name: string,
  scope: Scope | 'any',
  { pattern, appsOnly = false }: { readonly pattern?: RegExp; readonly appsOnly?: boolean } = {},
): Endpoint<KnownCaller> {
  return { route: { kind: 'free', name, scope }, access: appsOnly ? 'app' : 'key', ...(pattern && { pattern }) }
}

/** A free endpoint that needs a key, or is paid for by a credential alone. */
export function paidInEndpoint(name: string, scope: Scope): Endpoint {
  return { route: { kind: 'free', name, scope, takesPayment: true }, access: 'key' }
}

/** An endpoint for anybody, at the pace of the caller's address. `paymentInBody`: see `Route`. */
export function publicEndpoint(more: { readonly paymentInBody?: true } = {}): Endpoint {
  return { route: { kind: 'public', ...more }, access: 'anybody' }
}

/** Where a mounted route carries its declaration. A symbol, so that it is in no document. */
const ENDPOINT = Symbol('endpoint')

/** Declares a mounted route to be this endpoint, with its documents; null keeps it out of the documents. */
export function declared(endpoint: Endpoint, docs: EndpointDocs | null, ...tables: readonly ParameterTable[]): Hook {
  const operation = docs ? operationOf(docs, endpoint.access, tables) : { hide: true }
  // Elysia's type knows OpenAPI 3.0 only; what is written here is 3.1, and the mended document says so.
  return { detail: { ...operation, [ENDPOINT]: endpoint } as unknown as DocumentDecoration }
}

/** The endpoint that a mounted route was declared to be, or null. */
export function declaredEndpoint(hooks: unknown): Endpoint | null {
  const detail: unknown = Reflect.get(Object(hooks), 'detail')
  return (Reflect.get(Object(detail), ENDPOINT) as Endpoint | undefined) ?? null
}

/** What a handler of a gated endpoint is given by Elysia, its context as the gate left it. */
export interface GatedCall<C extends Caller = Caller, Params = unknown> {
  readonly context: GatedContext<C>
  readonly params: Params
}

/**
 * Handler and declaration of an endpoint that is gated, behind its path: `.get('/v1/usage', ...served(REPORT, handler, docs))`.
 * The handler runs as it is: before the router looked for it, its call was authenticated for this very endpoint, or refused and
 * answered (`request-hooks`). It reads the body itself.
 */
export function served<C extends Caller, R, Params>(
  endpoint: Endpoint<C>,
  handler: (call: GatedCall<C, Params>) => R,
  docs: EndpointDocs | null,
  ...tables: readonly ParameterTable[]
): readonly [GatedHandler<R, Params>, Hook & { readonly parse: 'none' }] {
  return [handler as GatedHandler<R, Params>, { parse: 'none', ...declared(endpoint, docs, ...tables) }]
}

type GatedHandler<R, Params> = (elysia: { readonly context: RequestContext; readonly params: Params }) => R
type Hook = { readonly detail: DocumentDecoration }

/** For routes that answer with plain values: sends the value as the reply of its gated call, with all headers of one. */
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
