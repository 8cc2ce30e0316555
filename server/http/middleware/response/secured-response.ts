/** Browser features that no page may use. */
const PERMISSIONS = ['camera', 'display-capture', 'geolocation', 'microphone', 'midi', 'payment', 'serial', 'usb']
const PERMISSIONS_POLICY = PERMISSIONS.map((name) => `${name}=()`).join(', ')
const YEAR_SECONDS = 31_536_000

/** Pages that apps open in a popup during OAuth. They are not isolated, or the app could not communicate with the popup. */
const OPENED_BY_APPS: ReadonlySet<string> = new Set(['/sign-in', '/sign-up', '/consent'])

/**
 * Adds the security headers of every response: no type sniffing; on https, HSTS for this host (not its subdomains, which are not
 * ours); and for pages, isolation from other sites' windows and no access to sensors.
 */
export function securedResponse(response: Response, url: string, isHttps: boolean): Response {
  const { headers } = response
  headers.set('x-content-type-options', 'nosniff')
  if (isHttps) headers.set('strict-transport-security', `max-age=${YEAR_SECONDS}`)
  if (!headers.get('content-type')?.startsWith('text/html')) return response
  headers.set('permissions-policy', PERMISSIONS_POLICY)
  if (!OPENED_BY_APPS.has(new URL(url).pathname)) headers.set('cross-origin-opener-policy', 'same-origin')
  return response
}
