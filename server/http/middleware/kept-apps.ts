/**
 * Whether apps stay connected when an owner changes the password or signs out everywhere. Only with `?apps=keep`, because an
 * intruder may have connected one.
 */
export function keepsApps(url: URL): boolean {
  return url.searchParams.get('apps') === 'keep'
}
