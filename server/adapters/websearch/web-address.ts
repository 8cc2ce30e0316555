/** An address of the web as engines write it, absolute; a bare `//host` is https. Empty when it is none that a browser opens. */
export function webAddress(text: string): string {
  const url = URL.parse(text.startsWith('//') ? `https:${text}` : text)
  return url?.protocol === 'https:' || url?.protocol === 'http:' ? url.href : ''
}
