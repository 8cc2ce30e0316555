/**
 * The token after the # of an emailed link. Removed from the address bar immediately, so that it does not stay in the browser
 * history.
 */
export function takeToken(): string | null {
  const token = /^#token=([\w.-]+)$/.exec(window.location.hash)?.[1] ?? null
  if (token !== null) window.history.replaceState(null, '', window.location.pathname)
  return token
}
