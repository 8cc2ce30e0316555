import type { Client } from '@libsql/client'
import { isoTime } from '../../../../core/clock'
import { metaUrl } from '../../meta-url'
import { absoluteAddress } from '../../passages/context-body'
import { searchTerms } from '../../passages/search-terms'
import { type Correct, spelled } from './index-spelling'
import type { Region } from './region-weight'
import { type FoundImage, searchImages } from './search-images'

/** The part of an image search call that the index answers. */
export interface ImageQuestion {
  readonly q: string
  readonly spellcheck: boolean
  readonly count: number
  readonly region: Region
  /** 0 none, 1 adult themes, 2 explicit. */
  readonly maxAdult: number
}

/** The 200 body of an image search as JSON. */
export async function imageAnswer(
  client: Client,
  question: ImageQuestion,
  baseUrl: string,
  correct: Correct,
): Promise<string> {
  const { original, altered, spellcheckOff } = await spelled(question, correct)
  const { images, hidAdult } = await searchImages(client, { ...question, terms: searchTerms(altered ?? original) })
  return JSON.stringify({
    type: 'images',
    query: {
      original,
      ...(altered === undefined ? {} : { altered }),
      ...(spellcheckOff ? { spellcheck_off: true } : {}),
      show_strict_warning: hidAdult,
    },
    results: images.map((image) => result(image, baseUrl)),
    extra: { might_be_offensive: images.some((image) => image.adult) },
  })
}

/** The image is its own thumbnail: indexed images are small, and callers load them directly. */
function result(image: FoundImage, baseUrl: string): object {
  const meta = metaUrl(image.pageUrl)
  const file = absoluteAddress(image.imageUrl, baseUrl)
  const { width, height } = image
  const size = width === null || height === null ? {} : { width, height }
  return {
    type: 'image_result',
    title: image.title,
    url: image.pageUrl,
    source: meta.hostname,
    page_fetched: isoTime(image.fetchedAt * 1000).replace('.000Z', 'Z'),
    thumbnail: { src: file, ...size },
    properties: { url: file, placeholder: file, ...size },
    meta_url: { ...meta, favicon: image.favicon },
    confidence: image.confidence,
  }
}
