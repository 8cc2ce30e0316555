/**
 * The query that this page was loaded with, byte for byte. An app's request for access is signed, and the router rewrites
 * queries, so this must be read before the router starts.
 */
const INITIAL_QUERY = window.location.search

/** The app request that waits for a sign-in or a decision; null if this page was not opened for one. */
export function pendingAppRequest(): string | null {
  const query = new URLSearchParams(INITIAL_QUERY)
  return query.has('client_id') && query.has('sig') ? INITIAL_QUERY.slice(1) : null
}
