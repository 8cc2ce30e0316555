import type { ImageSearchInput } from '../../../core/catalog/image-search'
import { isoTime } from '../../../core/clock'
import { metaUrl } from '../meta-url'
import type { SearxngResult, SearxngSearch } from './searxng-client'

/** The 200 body of an image search, as JSON text. */
export function imageBody(input: ImageSearchInput, { results, altered }: SearxngSearch, nowMs: number): string {
  const shown = results.slice(0, input.count)
  return JSON.stringify({
    type: 'images',
    query: {
      original: input.q,
      ...(altered !== null && { altered }),
      ...(!input.spellcheck && { spellcheck_off: true }),
      show_strict_warning: false,
    },
    results: shown.map((result, at) => imageResult(result, confidence(at, shown.length), nowMs)),
    extra: { might_be_offensive: input.safesearch === 'off' },
  })
}

function imageResult(result: SearxngResult, confidence: string, nowMs: number): object {
  const picture = result.imageUrl
  const preview = result.imageThumbnail || result.thumbnail || picture
  return {
    type: 'image_result',
    title: result.title,
    url: result.url,
    source: new URL(result.url).hostname,
    // The time of the search: SearXNG does not crawl, and clients of the original service skip results without a date.
    page_fetched: isoTime(nowMs).replace(/\.\d+Z$/, 'Z'),
    thumbnail: { src: preview },
    properties: { url: picture, placeholder: preview, ...size(result.resolution) },
    meta_url: metaUrl(result.url),
    confidence,
  }
}

/** Derived from its position in the results, which the engines ranked. */
function confidence(at: number, of: number): 'high' | 'medium' | 'low' {
  return at * 3 < of ? 'high' : at * 3 < of * 2 ? 'medium' : 'low'
}

/** `1920x1080`, `1920 × 1080`; engines also say `NonexNone`, `?x?` or `large`. */
function size(resolution: string): { width: number; height: number } | null {
  const [, width, height] = /^(\d{1,6})\s*[x×*]\s*(\d{1,6})\b/i.exec(resolution) ?? []
  return Number(width) > 0 && Number(height) > 0 ? { width: Number(width), height: Number(height) } : null
}
