import { PLAYGROUND_TEXT } from '../../messages/playground.ts'

/** Images as a grid. Each links to the page that shows it, if there is one. */
export function ImageGrid({ images }: { images: readonly FoundImage[] }) {
  return (
    <ul className="grid grid-cols-2 gap-3 sm:grid-cols-3">
      {images.map(({ title, preview, page }, at) => (
        // Two results can have the same page, so the index is part of the key.
        <li key={`${at} ${page}`}>
          <a
            href={page ?? undefined}
            target="_blank"
            rel="noreferrer"
            className="grid gap-1 rounded-md border border-line p-2 hover:bg-sunken"
          >
            <img src={preview} alt="" loading="lazy" className="h-24 w-full rounded-md bg-paper object-contain p-2" />
            <span className="small truncate" title={title}>
              {title}
            </span>
          </a>
        </li>
      ))}
    </ul>
  )
}

/** An image of a response: its preview from our own origin, and the page that shows it. */
export interface FoundImage {
  readonly title: string
  readonly preview: string
  /** Null for a picture that a model made. */
  readonly page: string | null
}

/** The images in a response: those of an image search, or those that a model made. */
export function findImages(answer: unknown): readonly FoundImage[] {
  const results: unknown = Reflect.get(Object(answer), 'results')
  if (!Array.isArray(results)) return madeImages(answer)
  return results.flatMap((result: unknown) => {
    const source: unknown = Reflect.get(Object(Reflect.get(Object(result), 'thumbnail')), 'src')
    const page: unknown = Reflect.get(Object(result), 'url')
    const preview = typeof source === 'string' ? proxiedUrl(source) : null
    if (preview === null || typeof page !== 'string' || !/^https?:/.test(page)) return []
    return [{ title: String(Reflect.get(Object(result), 'title') ?? page), preview, page }]
  })
}

function madeImages(answer: unknown): readonly FoundImage[] {
  const data: unknown = Reflect.get(Object(answer), 'data')
  if (!Array.isArray(data)) return []
  return data.flatMap((one: unknown, i) => {
    const image: unknown = Reflect.get(Object(one), 'b64_json')
    return typeof image === 'string' && /^[A-Za-z0-9+/]+=*$/.test(image)
      ? [{ title: PLAYGROUND_TEXT.picture(i + 1), preview: `data:image;base64,${image}`, page: null }]
      : []
  })
}

/** Images of other sites are loaded through the gateway, so that those sites do not learn who views them. */
function proxiedUrl(source: string): string | null {
  const url = URL.parse(source, window.location.origin)
  if (!url || !/^https?:$/.test(url.protocol)) return null
  return url.origin === window.location.origin ? url.href : `/api/thumbnail?url=${encodeURIComponent(url.href)}`
}
