/** Documents that a web page of any origin may read. */
const DOCUMENTS = /^https?:\/\/[^/]+\/(openapi\.json|\.well-known|v1\/catalog)([?/]|$)/
/** The routes for web pages of the configured origins, with a key or an access token of their own. */
const CALLS = /^https?:\/\/[^/]+\/(mcp|apis|v1|v1beta)([?/]|$)/

/** Response headers that a page may read in addition to the safelisted ones. */
const EXPOSED = [
  ...['age', 'api-version', 'idempotency-replayed', 'link', 'payment-receipt', 'payment-required', 'payment-response'],
  ...['retry-after', 'www-authenticate', 'x-cost-micros-usd', 'x-gateway-request-id', 'x-gateway-removed-betas'],
  ...['x-payment-response', 'x-request-id'],
  ...['limit', 'remaining', 'reset'].flatMap((part) =>
    ['requests', 'tokens', 'concurrency'].map((window) => `x-ratelimit-${part}-${window}`),
  ),
].join(', ')
const METHODS = 'GET, POST, PUT, PATCH, DELETE'
const MAX_AGE_SECONDS = '7200'

/**
 * Cross-origin access for web pages (the fetch standard's CORS). Documents are open to all pages, calls to the origins of `CORS_ORIGINS`.
 * Cookies are never accepted from another origin: `Access-Control-Allow-Credentials` is never sent.
 */
export class Cors {
  private readonly origins: ReadonlySet<string>

  constructor(origins: ReadonlySet<string>) {
    this.origins = origins
  }

  /** The answer to a preflight request for a call, or null: then the request takes its usual way. */
  preflight(request: Request): Response | null {
    const { method, url, headers } = request
    if (method !== 'OPTIONS' || !headers.has('access-control-request-method')) return null
    const origin = this.allowed(request)
    if (origin === null || !CALLS.test(url)) return null
    const wanted = headers.get('access-control-request-headers') ?? ''
    return new Response(null, {
      status: 204,
      headers: {
        'access-control-allow-origin': origin,
        'access-control-allow-methods': METHODS,
        ...(/^[\w\-, ]{1,1000}$/.test(wanted) && { 'access-control-allow-headers': wanted }),
        'access-control-max-age': MAX_AGE_SECONDS,
        vary: 'origin, access-control-request-headers',
      },
    })
  }

  /** Adds what a page needs to read this response. Requests without an Origin pay for no more than this look. */
  open(request: Request, response: Response): Response {
    if (!request.headers.has('origin')) return response
    const { headers } = response
    if (DOCUMENTS.test(request.url)) {
      headers.set('access-control-allow-origin', '*')
      return response
    }
    if (!CALLS.test(request.url)) return response
    headers.append('vary', 'origin')
    const origin = this.allowed(request)
    if (origin === null) return response
    headers.set('access-control-allow-origin', origin)
    headers.set('access-control-expose-headers', EXPOSED)
    return response
  }

  private allowed({ headers }: Request): string | null {
    const origin = headers.get('origin')
    return origin !== null && this.origins.has(origin) ? origin : null
  }
}
