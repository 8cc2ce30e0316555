import { parsedJson } from '../../../core/json'

/**
 * What the browser gets that a provider of sign-in sent back: a page, never JSON. Refusals lead to the sign-in page, which names them by
 * `error`; so does a request that the library cannot place.
 */
export async function callbackRedirect(response: Response, origin: string): Promise<Response> {
  if (response.status >= 400) {
    const { code } = Object(Object(parsedJson(await response.text())).error)
    return redirected(response, `${origin}/sign-in?error=${encodeURIComponent(String(code))}`)
  }
  const location = URL.parse(response.headers.get('location') ?? '', origin)
  // Its page for errors is that of apps, whose requests have a `client_id`.
  if (location?.pathname !== '/consent' || location.searchParams.has('client_id')) return response
  return redirected(response, `${origin}/sign-in${location.search}`)
}

function redirected(from: Response, location: string): Response {
  const headers = new Headers({ location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
  for (const cookie of from.headers.getSetCookie()) headers.append('set-cookie', cookie)
  return new Response(null, { status: 302, headers })
}
