import { SOLD } from '../../core/catalog/operations'
import { failure } from '../../core/failure'
import type { Route } from '../../pipeline/call'
import { readDeclaration } from '../openapi/documented'
import { declaredAccess } from './api-access'
import { type Cost, costOfMethod, unitsOf } from './cost'
import { asMounted, declaredEndpoints, type Endpoint, type GatedHandler, isGated } from './endpoint'

/** The paths of Azure's API, whose deployments this gateway does not have. */
const AZURE = /^\/+(?:openai\/)?deployments\//
const AZURE_PATH = {
  kind: 'unmatched',
  failure: failure(
    'unknown_endpoint',
    "The paths of Azure's API (/openai/deployments/...) are not offered. Use an OpenAI client with the base URL of this gateway and /v1.",
  ),
} as const

/** Paths whose routes say who may call them (`api-access.ts`). */
const API = /^\/api(\/|$)/
/** In characters. */
const LONGEST_SLIP = 200

/** The endpoint that a request is for: its route, and the handler that answers it; null if every call is refused. */
export interface Matched {
  readonly route: Route
  readonly handler: GatedHandler | null
  /** The parameters of the path, decoded. */
  readonly params: Readonly<Record<string, string>>
}

const NO_PARAMS = {}

/** The route of a path that matches no endpoint. */
export const UNKNOWN_ENDPOINT = {
  kind: 'unmatched',
  failure: failure('unknown_endpoint', 'This endpoint does not exist. Check the path; /docs lists all endpoints.'),
} as const satisfies Route

/** Routes of operations that an operator put on sale, which change while the gateway runs. */
export interface ImportedRoutes {
  /** Null if no imported operation has this path. */
  match(method: string, path: string): Matched | null
}

const NONE_IMPORTED: ImportedRoutes = { match: () => null }

/** A route as mounted in Elysia. */
export interface MountedRoute {
  readonly method: string
  readonly path: string
  readonly hooks: unknown
}

/** The methods of one path, or of an endpoint's own pattern. */
interface Entry {
  /** The first as mounted. */
  readonly path: string
  readonly pattern: RegExp
  readonly endpoints: Map<string, MountedEndpoint>
}

interface MountedEndpoint extends Matched {
  readonly declared: Endpoint
  readonly route: Endpoint['route']
}

/**
 * All mounted routes. The calls of gated paths are routed by it, and other parts look up routes, for refusals with `Allow` and hints.
 * Handlers get it before all of them are mounted.
 */
export class EndpointTable {
  /** By path, or by the source of the endpoint's own pattern; in mounting order. */
  private readonly gated = new Map<string, Entry>()
  private readonly imported: ImportedRoutes
  /** Those whose paths have parameters or a pattern of their own. */
  private readonly patterns: Entry[] = []
  private readonly open: { readonly method: string; readonly pattern: RegExp }[] = []
  /** Those that routes declare, by method and path as mounted. */
  private readonly costs = new Map<string, Cost>()

  constructor(imported: ImportedRoutes = NONE_IMPORTED) {
    this.imported = imported
  }

  /** Throws if a route that is gated or below `/api` does not say who may call it, an ungated one is an endpoint, or two conflict. */
  mount(routes: readonly MountedRoute[]): this {
    for (const route of routes)
      if (isGated(route.path)) this.addGated(route)
      else this.addOpen(route)
    return this
  }

  /** Throws if an operation that is sold has no route. */
  requireSold(): void {
    const missing = SOLD.filter((name) => this.callsOf(name).length === 0)
    if (missing.length > 0) throw new Error(`No route serves ${missing.join(', ')}. Mount each with sold(...).`)
  }

  private addGated({ method, path, hooks }: MountedRoute): void {
    const endpoints = declaredEndpoints(hooks)
    const { handler, cost = costOfMethod(method) } = readDeclaration(hooks)
    if (endpoints.length === 0 || !handler)
      throw new Error(
        `${method} ${path} does not say who may call it. Mount it with served(...) or sold(...), see docs/CONTRIBUTING.md.`,
      )
    for (const declared of endpoints) {
      const { pattern = pathPattern(path) } = declared
      const name = declared.pattern?.source ?? path
      const known = this.gated.get(name)
      const entry = known ?? { path, pattern, endpoints: new Map<string, MountedEndpoint>() }
      const other = entry.endpoints.get(method)
      if (other && other.declared !== declared)
        throw new Error(`${method} ${path} is declared twice with different endpoints.`)
      // A pattern may be mounted at several paths, and describes them better than each.
      if (other) continue
      const { route } = asMounted(declared, entry.path, cost)
      entry.endpoints.set(method, { declared, route, handler: handler as GatedHandler, params: NO_PARAMS })
      if (known) continue
      this.gated.set(name, entry)
      if (name !== path || path.includes(':')) this.patterns.push(entry)
    }
  }

  private addOpen({ method, path, hooks }: MountedRoute): void {
    if (declaredEndpoints(hooks).length > 0)
      throw new Error(
        `${method} ${path} is declared as an endpoint, but its path accepts no keys. Mount it under /v1 or /apis.`,
      )
    if (API.test(path) && !declaredAccess(hooks))
      throw new Error(
        `${method} ${path} does not say who may call it. Mount it with allowed(...), see docs/CONTRIBUTING.md.`,
      )
    const { cost } = readDeclaration(hooks)
    if (cost !== undefined) this.costs.set(`${method} ${path}`, cost)
    if (!path.includes('*')) this.open.push({ method, pattern: pathPattern(path) })
  }

  private entryOf(path: string): Entry | undefined {
    if (!isGated(path)) return undefined
    const fixed = this.gated.get(path)
    if (fixed) return fixed
    for (const entry of this.patterns) if (entry.pattern.test(path)) return entry
    return undefined
  }

  /** The route of a gated path; null if it is not gated. */
  routeOf(method: string, path: string): Route | null {
    return isGated(path) ? this.match(method, path).route : null
  }

  /**
   * The endpoint of a gated path. Unknown paths are a 404, wrong methods a 405 with `Allow`; HEAD never runs a GET that is sold.
   */
  match(method: string, path: string): Matched {
    const entry = this.entryOf(path)
    if (!entry) return this.imported.match(method, path) ?? refusing(this.unknown(method, path))
    const endpoint = entry.endpoints.get(method === 'HEAD' ? 'GET' : method)
    if (!endpoint || (method === 'HEAD' && endpoint.route.kind === 'priced'))
      return refusing({ kind: 'unmatched', failure: wrongMethod(method, allowedMethods(entry)) })
    const params = entry.path.includes(':') ? entry.pattern.exec(path)?.groups : undefined
    return params ? { ...endpoint, params: decoded(params) } : endpoint
  }

  /** The 404 of a path, which names the right one where a slip in a client's base URL explains it. Never a redirect: it would lose bodies and keys. */
  unknown(method: string, path: string): Route & { readonly kind: 'unmatched' } {
    if (AZURE.test(path)) return AZURE_PATH
    // No client's base URL is that long, and a message repeats no long text of a caller.
    if (path.length > LONGEST_SLIP) return UNKNOWN_ENDPOINT
    const clean = path
      .replace(/\/{2,}/g, '/')
      .replace(/(?<=.)\/$/, '')
      .replace(/\/sse$/, '/mcp')
    const bare = clean
      .replace(/^(?:\/(?:openai|apis?|v\d+(?:beta)?))+(?=\/)/, '')
      .replace(/^(\/.+)(?:\/v\d+)?\1$/, '$1')
    // Google's methods are named after a colon.
    const versions = bare.includes(':') ? ['/v1beta', '/v1'] : ['/v1', '/v1beta']
    const existing = [clean, ...[...versions, '/apis/v1'].map((version) => version + bare), bare]
      .filter((right) => right !== path)
      .map((right) => ({ right, methods: this.methodsAtGated(method, right) }))
      .filter(({ methods }) => methods.length > 0)
    const one = existing.find(({ methods }) => methods.includes(method)) ?? existing[0]
    if (!one) return UNKNOWN_ENDPOINT
    const how = one.methods.includes(method) ? '' : `, with ${one.methods.join(' or ')}`
    const message = `This endpoint does not exist. Its path is ${one.right}${how}: check the base URL of your client.`
    return { kind: 'unmatched', failure: failure('unknown_endpoint', message) }
  }

  /** The methods of a gated path; empty if there is none. Of an imported operation only `method` itself, if it has that. */
  private methodsAtGated(method: string, path: string): readonly string[] {
    const entry = this.entryOf(path)
    if (entry) return allowedMethods(entry)
    const imported = this.imported.match(method, path)?.route
    if (imported?.kind !== 'unmatched') return imported ? [method] : []
    return imported.failure.allow ?? []
  }

  /** Where the request log's operation of this name is called. Empty for imported operations, which the catalog describes. */
  callsOf(name: string): { readonly method: string; readonly path: string }[] {
    return [...this.gated.values()].flatMap(({ endpoints }) =>
      [...endpoints].flatMap(([method, { route }]) => {
        const isNamed =
          (route.kind === 'priced' && route.operation === name) || (route.kind === 'free' && route.name === name)
        return isNamed && route.template !== undefined ? [{ method, path: route.template }] : []
      }),
    )
  }

  /** How many units a request of a route that is not gated takes of its caller's window. `path`: as mounted. */
  unitsOf(method: string, path: string, url: URL): number {
    const mounted = method === 'HEAD' ? 'GET' : method
    const cost = this.costs.get(`${mounted} ${path}`) ?? this.costs.get(`ALL ${path}`)
    return unitsOf(cost ?? costOfMethod(method), url)
  }

  /** The methods of a path that is not gated; empty if there is no such path. */
  methodsAt(path: string): string[] {
    return [...new Set(this.open.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method))]
  }
}

/** An endpoint whose calls are all refused. */
export function refusing(route: Extract<Route, { kind: 'unmatched' }>): Matched {
  return { route, handler: null, params: NO_PARAMS }
}

function decoded(params: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(params).map(([name, text]) => [name, decodedPart(text)]))
}

function decodedPart(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The failure of a method that a path does not support. */
export function wrongMethod(method: string, allow: readonly string[]) {
  return failure('method_not_allowed', `This endpoint supports ${allow.join(' and ')}, not ${method}.`, { allow })
}

function allowedMethods({ endpoints }: Entry): readonly string[] {
  return [...endpoints.keys()].sort()
}

/** Matches exactly the paths of a route such as `/v1/usage/:id`; a parameter is one segment, not empty, and a group of the match. */
function pathPattern(path: string): RegExp {
  return new RegExp(`^${path.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/:(\w+)/g, '(?<$1>[^/]+)')}$`)
}
