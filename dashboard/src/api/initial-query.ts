/**
 * The query that this page was loaded with, letter by letter. An app's request for access is signed, and the router writes
 * queries its own way; so it is read before the router is.
 */
const ARRIVED = window.location.search

/** The request of an app that waits for a sign-in or an answer; null when this page was not opened for one. */
export function appRequest(): string | null {
  const query = new URLSearchParams(ARRIVED)
  return query.has('client_id') && query.has('sig') ? ARRIVED.slice(1) : null
}
