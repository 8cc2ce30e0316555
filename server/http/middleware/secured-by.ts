import { Cors } from './cors'
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

/** Normalizes the URL of each request, adds security headers to each response and compresses those that may be. */
export function securedBy(
  { baseUrl, corsOrigins }: { readonly baseUrl: string; readonly corsOrigins: ReadonlySet<string> },
  unread: UnreadAnswers,
  answer: (request: Request) => Response | Promise<Response>,
) {
  const isHttps = baseUrl.startsWith('https:')
  const compressed = new CompressedResponses(unread)
  const cors = new Cors(corsOrigins)
  return async (original: Request): Promise<Response> => {
    const request = normalizeUrl(original)
    const preflight = cors.preflight(request)
    const answered = preflight
      ? withLimits(preflight, await answer(request))
      : cors.open(request, await answer(request))
    const response = securedResponse(answered, request.url, isHttps)
    return isCompressible(request) ? compressed.of(request, response) : response
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
  const { pathname, search } = onLocalhost(url)
  const routable = new Request(`http://localhost${pathname}${search}`, { method, headers, body, signal })
  return withOrigin(routable, { received: request, hasBadHost: !usable && headers.has('host') })
}

function onLocalhost(url: string): URL {
  return new URL(`http://localhost${url.replace(/^https?:\/\/[^/?#]*/, '')}`)
}

/**
 * Adds the security headers of every response: no type sniffing; on https, HSTS for this host (not its subdomains, which are not
 * ours); and for pages, isolation from other sites' windows and no access to sensors.
 */
function securedResponse(response: Response, url: string, isHttps: boolean): Response {
  const { headers } = response
  headers.set('x-content-type-options', 'nosniff')
  if (isHttps) headers.set('strict-transport-security', `max-age=${YEAR_SECONDS}`)
  if (!headers.get('content-type')?.startsWith('text/html')) return response
  headers.set('permissions-policy', PERMISSIONS_POLICY)
  if (!OPENED_BY_APPS.has(new URL(url).pathname)) headers.set('cross-origin-opener-policy', 'same-origin')
  return response
}
