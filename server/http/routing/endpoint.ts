import type { Context } from 'elysia'
import type { ModelOperationName, Operation } from '../../core/catalog/operation'
import type { Scope } from '../../core/credentials/oauth-grant'
import {
  type Caller,
  type KnownCaller,
  type Outcome,
  operationRoute,
  type PricedRoute,
  type Route,
} from '../../pipeline/call'
import type { GatedContext, RequestContext } from '../middleware/request-context'
import { type Access, type Callers, declaring, type Hook, readDeclaration } from '../openapi/documented'
import { type Cost, unitsOf } from './cost'

/** Paths that need a credential and carry limit headers (spec D9). */
const GATED = /^\/(apis|v1|v1beta|mcp)(\/|$)/

/** Whether a path needs a credential. */
export function isGated(path: string): boolean {
  return GATED.test(path)
}

const GATED_URL = /^https?:\/\/[^/]+\/(apis|v1|v1beta|mcp)([/?#]|$)/

/** The same of the path of a URL. */
export function isGatedUrl(url: string): boolean {
  return GATED_URL.test(url)
}

/** Health probes, which respond even while the server is draining. */
export function isProbe(path: string): boolean {
  return path === '/health' || path === '/ready'
}

/**
 * The callers of a gated endpoint, and the kind of its calls. Declared once, where the endpoint is mounted (`served`, or `declared`
 * alone). The endpoint table, the scope an app needs and the documented security derive from it. `C`: the callers of its handler.
 */
export interface Endpoint<C extends Caller = Caller> {
  readonly route: Exclude<Route, { kind: 'unmatched' }>
  /** The credential a caller needs, for the documentation. */
  readonly access: Access
  /** Its paths, if the router's path does not describe them. */
  readonly pattern?: RegExp
  /** Endpoints that are mounted with this one, because only their patterns tell them apart. */
  readonly beside?: readonly Endpoint<C>[]
  /** Exists only in types. */
  readonly callers?: C
}

/** An endpoint whose calls are sold: its handler returns the outcome of `runPaidCall`. */
export interface PricedEndpoint<C extends Caller = Caller> extends Endpoint<C> {
  readonly route: PricedRoute
  readonly beside?: readonly PricedEndpoint<C>[]
}

/** An endpoint that costs nothing: its handler returns a response, or a value to send as JSON. */
export interface FreeEndpoint<C extends Caller = Caller> extends Endpoint<C> {
  readonly route: Extract<Route, { kind: 'free' | 'public' }>
}

/** A catalog operation, which determines the scope, the price and whether anonymous callers may pay. */
export function operationEndpoint(operation: Operation): PricedEndpoint {
  return { route: operationRoute(operation), access: operation.payable ? 'key or payment' : 'key' }
}

/** A model call: needs a key, and may have its own rate window in addition to the key's (spec 8). */
export function modelEndpoint(
  operation: ModelOperationName,
  {
    rpm,
    alsoScope,
    pattern,
    beside,
  }: Pick<PricedEndpoint<KnownCaller>, 'pattern' | 'beside'> & {
    readonly rpm?: number
    readonly alsoScope?: Scope
  } = {},
): PricedEndpoint<KnownCaller> {
  const window = rpm !== undefined && { window: { name: operation, rpm } }
  const more = { ...(alsoScope && { alsoScope }), ...window }
  const route = { kind: 'priced', operation, scope: 'models:use', takesSlot: true, ...more } as const
  return { route, access: 'key', ...(pattern && { pattern }), ...(beside && { beside }) }
}

/** A free endpoint that needs a key, or an app's token with this scope. `name` is its name in the request log. */
export function freeEndpoint(
  name: string,
  scope: Scope | 'any',
  { pattern, appsOnly = false }: { readonly pattern?: RegExp; readonly appsOnly?: boolean } = {},
): FreeEndpoint<KnownCaller> {
  return { route: { kind: 'free', name, scope }, access: appsOnly ? 'app' : 'key', ...(pattern && { pattern }) }
}

/** A free endpoint that needs a key or a payment credential. */
export function paidInEndpoint(name: string, scope: Scope): FreeEndpoint {
  return { route: { kind: 'free', name, scope, takesPayment: true }, access: 'key' }
}

/** A public endpoint, rate-limited by the caller's address. `paymentInBody`: see `Route`. */
export function publicEndpoint(more: { readonly paymentInBody?: true } = {}): FreeEndpoint {
  return { route: { kind: 'public', ...more }, access: 'anybody' }
}

/** The endpoints that a mounted route is declared as; none without a declaration. */
export function declaredEndpoints(hooks: unknown): readonly Endpoint[] {
  const { callers } = readDeclaration(hooks)
  return callers && isEndpoint(callers) ? [callers, ...(callers.beside ?? [])] : []
}

function isEndpoint(callers: Callers | Endpoint): callers is Endpoint {
  return 'route' in callers
}

/** What the handler of a gated endpoint gets, with the context that the gate authenticated. `set`: the status and headers of its answer. */
export interface GatedCall<C extends Caller = Caller, Params = unknown> {
  readonly context: GatedContext<C>
  readonly params: Params
  readonly set: Context['set']
}

/** Answers the calls of one endpoint, once they are authenticated for it. It reads the body itself. */
export type GatedHandler = (call: GatedCall) => unknown

/** What Elysia calls. */
export type MountedHandler<R, Params> = (elysia: {
  readonly context: RequestContext
  readonly params: Params
  readonly set: Context['set']
}) => R

/**
 * The declaration of an endpoint and its handler, to mount after its path:
 * `.get('/v1/usage', ...served(REPORT, documented(DOCS, QUERY), handler))`. The handler runs only for calls that were authenticated for
 * this endpoint. It returns the response, or a value to send as JSON.
 */
export function served<C extends Caller, R, Params>(
  endpoint: FreeEndpoint<C>,
  documentation: Hook,
  handler: (call: GatedCall<C, Params>) => R,
): GatedRoute<R, Params> {
  return gatedRoute(endpoint, documentation, handler)
}

/** The same for an endpoint whose calls are sold. */
export function sold<C extends Caller>(
  endpoint: PricedEndpoint<C>,
  documentation: Hook,
  handler: (context: GatedContext<C>) => Outcome | Promise<Outcome>,
): GatedRoute<unknown, unknown> {
  return gatedRoute(endpoint, documentation, ({ context }: GatedCall<C>) => handler(context))
}

type GatedRoute<R, Params> = readonly [MountedHandler<R, Params>, Hook & { readonly parse: 'none' }]

function gatedRoute<R, Params>(
  callers: Endpoint,
  documentation: Hook,
  handler: (call: never) => unknown,
): GatedRoute<R, Params> {
  return [notRouted, { parse: 'none', ...declaring(documentation, { callers, handler }) }]
}

/** Elysia documents these routes. Their calls are answered before its router (`middleware/gated-paths.ts`). */
function notRouted(): never {
  throw new Error('a call of a gated path reached the router')
}

/** The endpoint with its path as documented, for the request log, and with its cost in addition to a request of its key or app. */
export function asMounted(endpoint: Endpoint, path: string, cost: Cost): Endpoint {
  const { route } = endpoint
  if (route.kind === 'public') return endpoint
  const template = path.replace(/:(\w+)/g, '{$1}')
  const units = route.kind === 'free' && cost !== 0 && { units: (url: string) => unitsOf(cost, new URL(url)) }
  return { ...endpoint, route: { ...route, template, ...units } }
}
