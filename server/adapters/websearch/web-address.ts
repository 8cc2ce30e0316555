/** A web URL as engines write it, made absolute; a bare `//host` becomes https. Empty when a browser could not open it. */
export function webAddress(text: string): string {
  const url = URL.parse(text.startsWith('//') ? `https:${text}` : text)
  return url?.protocol === 'https:' || url?.protocol === 'http:' ? url.href : ''
}
