/** A request whose URL the router could not read as it came. */
export class NormalizedRequest extends Request {
  /** As it came. */
  readonly original: Request
  /** Whether it named a host that is none: a 400 by RFC 9112 3.2. HTTP/1.0 may name none. */
  readonly hasBadHost: boolean

  /** `url`: path and query, on a host of our own. */
  constructor(url: string, original: Request, hasBadHost: boolean) {
    const { method, headers, body, signal } = original
    super(url, { method, headers, body, signal })
    this.original = original
    this.hasBadHost = hasBadHost
  }
}

/** The shortest authority behind which the router finds the path: it looks for it from the 11th character of the URL on. */
const ROUTABLE = /^https?:\/\/[^/?#]{4,}\/[^#]*$/

/**
 * The request as the router can read it; nearly always the one that came. Bun hands over a path alone where there is no usable
 * `Host`; Elysia takes another part of the URL for the path where the host has under four characters (`http://gw/...`), and keeps
 * a fragment in it.
 */
export function normalizeUrl(request: Request): Request {
  const { url } = request
  const usable = URL.canParse(url)
  if (usable && ROUTABLE.test(url)) return request
  const { pathname, search } = new URL(`http://localhost${url.replace(/^https?:\/\/[^/?#]*/, '')}`)
  return new NormalizedRequest(`http://localhost${pathname}${search}`, request, !usable && request.headers.has('host'))
}

/** Whether the request named a host that is none. */
export function hasBadHost(request: Request): boolean {
  // Two Host headers reach us as one, joined by a comma (RFC 9112 section 3.2).
  if (request.headers.get('host')?.includes(',')) return true
  return request instanceof NormalizedRequest && request.hasBadHost
}
