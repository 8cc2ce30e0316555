import { isGatedUrl } from '../routing/endpoint'
import { withOrigin } from './request-context'
import { CompressedResponses, isCompressible } from './response/compressed-response'
import type { UnreadAnswers } from './response/unread-answers'

/** Browser features that no page may use. */
const PERMISSIONS = ['camera', 'display-capture', 'geolocation', 'microphone', 'midi', 'payment', 'serial', 'usb']
const PERMISSIONS_POLICY = PERMISSIONS.map((name) => `${name}=()`).join(', ')
const YEAR_SECONDS = 31_536_000

/** Pages that apps open in a popup during OAuth. They are not isolated, or the app could not communicate with the popup. */
const OPENED_BY_APPS: ReadonlySet<string> = new Set(['/sign-in', '/sign-up', '/consent'])

/** URLs that the router can parse: it looks for the path from the 11th character on. */
const ROUTABLE = /^https?:\/\/[^/?#]{4,}\/[^#]*$/

/**
 * Normalizes the URL of each request, adds security headers to each response and compresses those that may be. Answers of gated paths have
 * their security headers.
 */
export function securedBy(
  { baseUrl, corsOrigins }: { readonly baseUrl: string; readonly corsOrigins: ReadonlySet<string> },
  unread: UnreadAnswers,
  answer: (request: Request) => Response | Promise<Response>,
) {
  const compressed = new CompressedResponses(unread)
  const cors = new Cors(corsOrigins)
  const secured = async (request: Request): Promise<Response> => {
    const preflight = cors.preflight(request)
    const answered = preflight
      ? withLimits(preflight, await answer(request))
      : cors.open(request, await answer(request))
    const response = securedResponse(answered, request.url, baseUrl)
    return isCompressible(request) ? compressed.of(request, response) : response
  }
  return (original: Request): Response | Promise<Response> => {
    const request = normalizeUrl(original)
    const isAnswered = isGatedUrl(request.url) && !request.headers.has('origin') && !isCompressible(request)
    return isAnswered ? answer(request) : secured(request)
  }
}

/** A preflight with the ids and limit headers that the refusal of its OPTIONS would have. */
function withLimits(preflight: Response, refusal: Response): Response {
  for (const [name, value] of refusal.headers)
    if (/^x-(ratelimit-|request-id$|gateway-request-id$)/.test(name)) preflight.headers.set(name, value)
  return preflight
}

/**
 * The request in a form that the router can parse; usually unchanged. Without a usable `Host`, Bun passes a bare path; for hosts
 * with fewer than four characters (`http://gw/...`), Elysia mistakes another part of the URL for the path, and it keeps fragments.
 */
function normalizeUrl(request: Request): Request {
  const { url } = request
  const usable = URL.canParse(url)
  if (usable && ROUTABLE.test(url)) return request
  // Not before it is needed: reading `body` makes a stream of it.
  const { method, headers, body, signal } = request
  const { pathname, search } = new URL(`http://localhost${url.replace(/^https?:\/\/[^/?#]*/, '')}`)
  const routable = new Request(`http://localhost${pathname}${search}`, { method, headers, body, signal })
  return withOrigin(routable, { received: request, hasBadHost: !usable && headers.has('host') })
}

/**
 * Adds the security headers of every response: no type sniffing; on https, HSTS for this host (not its subdomains, which are not
 * ours); and for pages, isolation from other sites' windows and no access to sensors.
 */
export function securedResponse(response: Response, url: string, baseUrl: string): Response {
  const { headers } = response
  headers.set('x-content-type-options', 'nosniff')
  if (baseUrl.startsWith('https:')) headers.set('strict-transport-security', `max-age=${YEAR_SECONDS}`)
  if (!headers.get('content-type')?.startsWith('text/html')) return response
  headers.set('permissions-policy', PERMISSIONS_POLICY)
  if (!OPENED_BY_APPS.has(new URL(url).pathname)) headers.set('cross-origin-opener-policy', 'same-origin')
  return response
}

/** Documents that a web page of any origin may read. */
const DOCUMENTS = /^https?:\/\/[^/]+\/(openapi\.json|\.well-known|v1\/catalog)([?/]|$)/

/** Response headers that a page may read in addition to the safelisted ones. */
const EXPOSED = [
  ...['age', 'api-version', 'idempotency-replayed', 'link', 'payment-receipt', 'payment-required', 'payment-response'],
  ...['retry-after', 'www-authenticate', 'x-cost-micros-usd', 'x-gateway-request-id', 'x-gateway-removed-betas'],
  ...['x-cache', 'x-payment-response', 'x-request-id', 'x-served-by'],
  ...['limit', 'remaining', 'reset'].flatMap((part) =>
    ['requests', 'tokens', 'concurrency'].map((window) => `x-ratelimit-${part}-${window}`),
  ),
].join(', ')
const METHODS = 'GET, POST, PUT, PATCH, DELETE'
const MAX_AGE_SECONDS = '7200'

/**
 * Cross-origin access for web pages (the fetch standard's CORS). Documents are open to all pages, calls with a key or an access token to the
 * origins of `CORS_ORIGINS`.
 * Cookies are never accepted from another origin: `Access-Control-Allow-Credentials` is never sent.
 */
class Cors {
  private readonly origins: ReadonlySet<string>

  constructor(origins: ReadonlySet<string>) {
    this.origins = origins
  }

  /** The answer to a preflight request for a call, or null: then the request takes its usual way. */
  preflight(request: Request): Response | null {
    const { method, url, headers } = request
    if (method !== 'OPTIONS' || !headers.has('access-control-request-method')) return null
    const origin = this.allowed(request)
    if (origin === null || !isGatedUrl(url)) return null
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
    if (!isGatedUrl(request.url)) return response
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
