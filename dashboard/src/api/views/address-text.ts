/** A text of a page's address, cut to so many characters; undefined for none. The router parses digits and words such as `true` as values. */
export function addressText(value: unknown, max: number): string | undefined {
  const isText = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
  return isText ? [...String(value)].slice(0, max).join('') || undefined : undefined
}
