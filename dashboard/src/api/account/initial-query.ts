/**
 * The query that this page was loaded with, byte for byte. An app's request for access is signed, and the router rewrites
 * queries, so this must be read before the router starts.
 */
const INITIAL_QUERY = window.location.search

/** The app request that waits for a sign-in or a decision; null if this page was not opened for one. */
export function pendingAppRequest(): string | null {
  const query = new URLSearchParams(INITIAL_QUERY)
  if (!query.has('client_id') || !query.has('sig')) return null
  // What a sign-in by a provider adds when it comes back is not signed.
  return INITIAL_QUERY.slice(1).replaceAll(/&(error|error_description|second_factor)=[^&]*/g, '')
}

/** A parameter that the page was loaded with; undefined if there is none. */
export function initialParameter(name: string): string | undefined {
  return new URLSearchParams(INITIAL_QUERY).get(name) ?? undefined
}
