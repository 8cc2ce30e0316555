/** A request whose original URL the router could not parse. */
export class NormalizedRequest extends Request {
  /** As received. */
  readonly original: Request
  /** Whether its Host is invalid: a 400 by RFC 9112 3.2. HTTP/1.0 may omit the Host. */
  readonly hasBadHost: boolean

  /** `url`: the path and query on a placeholder host. */
  constructor(url: string, original: Request, hasBadHost: boolean) {
    const { method, headers, body, signal } = original
    super(url, { method, headers, body, signal })
    this.original = original
    this.hasBadHost = hasBadHost
  }
}

/** URLs that the router can parse: it looks for the path from the 11th character on. */
const ROUTABLE = /^https?:\/\/[^/?#]{4,}\/[^#]*$/

/**
 * The request in a form that the router can parse; usually unchanged. Without a usable `Host`, Bun passes a bare path; for hosts
 * with fewer than four characters (`http://gw/...`), Elysia mistakes another part of the URL for the path, and it keeps fragments.
 */
export function normalizeUrl(request: Request): Request {
  const { url } = request
  const usable = URL.canParse(url)
  if (usable && ROUTABLE.test(url)) return request
  const { pathname, search } = onLocalhost(url)
  return new NormalizedRequest(`http://localhost${pathname}${search}`, request, !usable && request.headers.has('host'))
}

/** The URL of a request, on a placeholder host if its own cannot be parsed. */
export function urlOf({ url }: Request): URL {
  return URL.parse(url) ?? onLocalhost(url)
}

function onLocalhost(url: string): URL {
  return new URL(`http://localhost${url.replace(/^https?:\/\/[^/?#]*/, '')}`)
}

/** Whether the request has an invalid Host. */
export function hasBadHost(request: Request): boolean {
  // Two Host headers arrive as one, joined by a comma (RFC 9112 section 3.2).
  if (request.headers.get('host')?.includes(',')) return true
  return request instanceof NormalizedRequest && request.hasBadHost
}
