import type { Client } from '@libsql/client'
import { absoluteAddress } from '../passages/context-body'
import { searchTerms } from '../passages/search-terms'
import { metaUrl } from './meta-url'
import { type FoundImage, searchImages } from './search-images'

/** What of an image search call the index answers. */
export interface ImageQuestion {
  readonly q: string
  readonly count: number
  readonly includeAdult: boolean
}

/** The 200 body of an image search, as JSON text (facts/upstreams.md 1.2). */
export async function imageAnswer(client: Client, question: ImageQuestion, baseUrl: string): Promise<string> {
  const { count, includeAdult } = question
  const { images, hidAdult } = await searchImages(client, { terms: searchTerms(question.q), count, includeAdult })
  return JSON.stringify({
    type: 'images',
    query: { original: question.q, spellcheck_off: true, show_strict_warning: hidAdult },
    results: images.map((image) => result(image, baseUrl)),
    extra: { might_be_offensive: images.some((image) => image.adult) },
  })
}

/** The file is its own preview: what is indexed is small, and nothing stands between it and the caller. */
function result(image: FoundImage, baseUrl: string): object {
  const meta = metaUrl(image.pageUrl)
  const file = absoluteAddress(image.imageUrl, baseUrl)
  const { width, height } = image
  return {
    type: 'image_result',
    title: image.title,
    url: image.pageUrl,
    source: meta.hostname,
    page_fetched: new Date(image.fetchedAt * 1000).toISOString().replace('.000Z', 'Z'),
    thumbnail: { src: file, width, height },
    properties: { url: file, placeholder: file, width, height },
    meta_url: { ...meta, favicon: image.favicon },
    confidence: image.confidence,
  }
}
