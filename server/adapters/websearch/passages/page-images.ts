import type { parseHTML } from 'linkedom'

/** A picture of a page. */
export interface PageImage {
  /** Absolute. */
  readonly url: string
  /** Its alternative text. */
  readonly alt: string
  /** The words under it. */
  readonly caption: string
  /** As the page says; null when it does not. */
  readonly width: number | null
  readonly height: number | null
}

const MAX_IMAGES = 200

/** The images of a page that have text or a file name to be found by. */
export function pageImages(document: ReturnType<typeof parseHTML>['document'], base: string): PageImage[] {
  const found = new Map<string, PageImage>()
  for (const image of document.querySelectorAll('img[src]')) {
    if (found.size >= MAX_IMAGES) break
    const url = URL.parse(image.getAttribute('src') ?? '', base)
    if (!url || !/^https?:$/.test(url.protocol) || found.has(url.href)) continue
    const caption = image.closest('figure')?.querySelector('figcaption')?.textContent ?? ''
    found.set(url.href, {
      url: url.href,
      alt: plain(image.getAttribute('alt') ?? image.getAttribute('title') ?? ''),
      caption: plain(caption),
      width: pixels(image.getAttribute('width')),
      height: pixels(image.getAttribute('height')),
    })
  }
  return [...found.values()]
}

function plain(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim().slice(0, 300).toWellFormed()
}

function pixels(value: string | null): number | null {
  return /^\d{1,5}(?:px)?$/.test(value ?? '') ? Number.parseInt(value ?? '', 10) : null
}
