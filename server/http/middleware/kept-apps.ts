/**
 * Whether an owner who sets a new password, or signs out everywhere, keeps apps connected: only who says `?apps=keep`. Whoever is
 * shut out by it may have let one in.
 */
export function keepsApps(url: URL): boolean {
  return url.searchParams.get('apps') === 'keep'
}
