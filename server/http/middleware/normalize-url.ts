import { withOrigin } from './request-context'

/** URLs that the router can parse: it looks for the path from the 11th character on. */
const ROUTABLE = /^https?:\/\/[^/?#]{4,}\/[^#]*$/

/**
 * The request in a form that the router can parse; usually unchanged. Without a usable `Host`, Bun passes a bare path; for hosts
 * with fewer than four characters (`http://gw/...`), Elysia mistakes another part of the URL for the path, and it keeps fragments.
 */
export function normalizeUrl(request: Request): Request {
  const { url, method, headers, body, signal } = request
  const usable = URL.canParse(url)
  if (usable && ROUTABLE.test(url)) return request
  const { pathname, search } = onLocalhost(url)
  const routable = new Request(`http://localhost${pathname}${search}`, { method, headers, body, signal })
  return withOrigin(routable, { received: request, hasBadHost: !usable && headers.has('host') })
}

/** The URL of a request, on a placeholder host if its own cannot be parsed. */
export function urlOf({ url }: Request): URL {
  return URL.parse(url) ?? onLocalhost(url)
}

function onLocalhost(url: string): URL {
  return new URL(`http://localhost${url.replace(/^https?:\/\/[^/?#]*/, '')}`)
}
