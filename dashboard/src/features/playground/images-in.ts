/** A picture of an answer: its preview from our own origin, and the page that it is of. */
export interface FoundImage {
  readonly title: string
  readonly preview: string
  readonly page: string
}

/** The pictures of an image search's answer; none in any other. */
export function imagesIn(answer: unknown): readonly FoundImage[] {
  const results: unknown = Reflect.get(Object(answer), 'results')
  if (!Array.isArray(results)) return []
  return results.flatMap((result: unknown) => {
    const source: unknown = Reflect.get(Object(Reflect.get(Object(result), 'thumbnail')), 'src')
    const page: unknown = Reflect.get(Object(result), 'url')
    const preview = typeof source === 'string' ? ownAddress(source) : null
    if (preview === null || typeof page !== 'string' || !/^https?:/.test(page)) return []
    return [{ title: String(Reflect.get(Object(result), 'title') ?? page), preview, page }]
  })
}

/** Pictures of other sites come through the gateway: no other site learns who looks. */
function ownAddress(source: string): string | null {
  const url = URL.parse(source, window.location.origin)
  if (!url || !/^https?:$/.test(url.protocol)) return null
  return url.origin === window.location.origin ? url.href : `/api/thumbnail?url=${encodeURIComponent(url.href)}`
}
