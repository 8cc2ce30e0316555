import type { OutboundFetch } from '../../../core/outbound/outbound-fetch'
import type { FoundPage } from './page-wire'
import type { RobotsRules } from './robots-rules'

/** Concurrent page fetches per call. */
const AT_ONCE = 8
const MAX_BYTES = 2 * 1024 * 1024
const MAX_REDIRECTS = 4
const PAGE_TIMEOUT_MS = 3_000
const HTML = ['text/html', 'application/xhtml+xml']
const TEXT = ['text/plain', 'text/markdown']

/**
 * Calls `onPage` for each page as it arrives, with its bytes, or without if it must not or cannot be fetched. Ends with the last page,
 * or when `signal` aborts.
 */
export async function fetchPages(
  pages: readonly FoundPage[],
  fetch: OutboundFetch,
  robots: RobotsRules,
  signal: AbortSignal,
  onPage: (page: FoundPage) => void,
): Promise<void> {
  const queue = [...pages]
  const work = async () => {
    for (let page = queue.shift(); page; page = queue.shift()) onPage(await fetchPage(page, fetch, robots, signal))
  }
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, pages.length) }, work))
}

async function fetchPage(
  page: FoundPage,
  fetch: OutboundFetch,
  robots: RobotsRules,
  signal: AbortSignal,
): Promise<FoundPage> {
  const fetched = await fetch({
    url: page.url,
    headers: { accept: 'text/html, text/markdown;q=0.9, text/plain;q=0.8' },
    timeoutMs: PAGE_TIMEOUT_MS,
    maxBytes: MAX_BYTES,
    maxRedirects: MAX_REDIRECTS,
    contentTypes: [...HTML, ...TEXT],
    mayVisit: (url) => robots.mayVisit(url),
    signal,
  })
  if (!fetched.ok || fetched.value.status !== 200 || fetched.value.body.byteLength === 0) return page
  const { body, contentType, headers } = fetched.value
  const charset = /charset\s*=\s*"?([\w-]{1,40})/i.exec(headers.get('content-type') ?? '')?.[1] ?? null
  return { ...page, fetched: { bytes: body, isHtml: HTML.includes(contentType), charset } }
}
