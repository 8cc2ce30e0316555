/** What a request asks for, when its URL cannot be used as it came. */
export interface Mended {
  /** Path and query, on a host of our own. */
  readonly url: string
  /** Whether it named a host that is none: a 400 by RFC 9112 3.2. HTTP/1.0 may name none. */
  readonly badHost: boolean
}

/** The shortest authority behind which the router finds the path: it looks for it from the 11th character of the URL on. */
const ROUTABLE = /^https?:\/\/[^/?#]{4,}\/[^#]*$/

/**
 * Null for nearly every request. Bun hands over a path alone where there is no usable `Host`; Elysia takes another part of
 * the URL for the path where the host has under four characters (`http://gw/...`), and keeps a fragment in it.
 */
export function normalizedUrl(request: Request): Mended | null {
  const { url } = request
  const usable = URL.canParse(url)
  if (usable && ROUTABLE.test(url)) return null
  const { pathname, search } = new URL(`http://localhost${url.replace(/^https?:\/\/[^/?#]*/, '')}`)
  return { url: `http://localhost${pathname}${search}`, badHost: !usable && request.headers.has('host') }
}
