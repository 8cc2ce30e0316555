import { parseMarkdown } from '../passages/markdown-sections'
import { pageContent } from '../passages/page-content'
import { passagesOf } from '../passages/passages'
import { countTokens } from '../passages/token-count'
import type { FoundPage, ReadPage } from './page-wire'

/** The maximum size of a page that is read, because the time grows with it. */
const MAX_CHARACTERS = 1_000_000
/** The maximum number of passages per page. No page budget has room for more. */
const MAX_MARKDOWN_CHARACTERS = 400_000

/** Splits a page into passages. Slow on long text: run it on a supervised thread. */
export function readPage(found: FoundPage): ReadPage {
  const { url, excerpt, prior, fetchedAt, fetched } = found
  const text = fetched ? decoded(fetched.bytes, fetched.charset).slice(0, MAX_CHARACTERS) : excerpt
  const content = fetched?.isHtml ? pageContent(text, url) : null
  const markdown = (content?.markdown ?? text).slice(0, MAX_MARKDOWN_CHARACTERS)
  const { sections } = parseMarkdown(markdown.trim() === '' ? excerpt : markdown)
  const { hostname } = new URL(url)
  const title = content?.title || found.title || hostname
  return {
    adult: content?.adult ?? 0,
    page: {
      url,
      title,
      titleTokens: countTokens(title),
      hostname,
      siteName: content?.siteName ?? hostname.replace(/^www\./, ''),
      description: content?.description ?? excerpt,
      published: content?.published ?? found.published,
      fetchedAt,
      favicon: content?.favicon ?? null,
      thumbnail: content?.picture ?? (found.thumbnail === '' ? null : found.thumbnail),
      passages: passagesOf(sections),
      prior,
    },
  }
}

/** The encoding according to the server, else the page, else UTF-8. */
function decoded(bytes: Uint8Array, charset: string | null): string {
  const head = new TextDecoder('latin1').decode(bytes.subarray(0, 2048))
  const named = charset ?? /<meta[^>]{1,200}?charset\s*=\s*["']?([\w-]{1,40})/i.exec(head)?.[1] ?? 'utf-8'
  return decoder(named).decode(bytes)
}

function decoder(name: string): { decode(bytes: Uint8Array): string } {
  try {
    return new TextDecoder(name as ConstructorParameters<typeof TextDecoder>[0]) // throws for unknown encodings
  } catch {
    return new TextDecoder()
  }
}
