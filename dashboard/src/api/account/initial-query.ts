/**
 * The query that this page was loaded with, letter by letter. An app's request for access is signed, and the router writes
 * queries its own way; so it is read before the router is.
 */
const INITIAL_QUERY = window.location.search

/** The request of an app that waits for a sign-in or an answer; null when this page was not opened for one. */
export function pendingAppRequest(): string | null {
  const query = new URLSearchParams(INITIAL_QUERY)
  return query.has('client_id') && query.has('sig') ? INITIAL_QUERY.slice(1) : null
}
