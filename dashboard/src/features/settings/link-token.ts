/** The token that a mailed link carries behind #. Taken out of the address bar at once: a history keeps it otherwise. */
export function takeToken(): string | null {
  const token = /^#token=([\w.-]+)$/.exec(window.location.hash)?.[1] ?? null
  if (token !== null) window.history.replaceState(null, '', window.location.pathname)
  return token
}
