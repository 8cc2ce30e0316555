import type { FoundImage } from './images-in.ts'

/** Pictures as a grid; each leads to the page that it is of. */
export function ImageGrid({ images }: { images: readonly FoundImage[] }) {
  return (
    <ul className="grid grid-cols-2 gap-3 sm:grid-cols-3">
      {images.map(({ title, preview, page }, at) => (
        // Two results may show the same page.
        <li key={`${at} ${page}`}>
          <a
            href={page}
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
