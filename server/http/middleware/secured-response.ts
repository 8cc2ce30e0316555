/** What a page may ask the browser for: nothing that the dashboard does not use. */
const PERMISSIONS = ['camera', 'display-capture', 'geolocation', 'microphone', 'midi', 'payment', 'serial', 'usb']
const PERMISSIONS_POLICY = PERMISSIONS.map((name) => `${name}=()`).join(', ')
const YEAR_SECONDS = 31_536_000

/** Pages that an app may open in a window of its own, which it then has to hear back from: isolated, it would not (OAuth). */
const OPENED_BY_APPS: ReadonlySet<string> = new Set(['/sign-in', '/sign-up', '/consent'])

/**
 * Adds to an answer what every browser must be told, whatever route made it: that its type is as stated, on https that this host is
 * https only (its subdomains are not ours to bind), and of pages that no other site shares their window or their sensors.
 */
export function securedResponse(response: Response, path: string, isHttps: boolean): Response {
  const { headers } = response
  headers.set('x-content-type-options', 'nosniff')
  if (isHttps) headers.set('strict-transport-security', `max-age=${YEAR_SECONDS}`)
  if (!headers.get('content-type')?.startsWith('text/html')) return response
  headers.set('permissions-policy', PERMISSIONS_POLICY)
  if (!OPENED_BY_APPS.has(path)) headers.set('cross-origin-opener-policy', 'same-origin')
  return response
}
