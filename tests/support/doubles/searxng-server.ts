import { HttpDouble, type Received } from './http-double'

/**
 * A SearXNG as its sources describe it (https://github.com/searxng/searxng commit 9fea412: `searx/webapp.py`,
 * `searx/webutils.py`, `searx/webadapter.py`, `searx/result_types/`): it checks what SearXNG checks, in
 * its words, and every result carries all fields of its type, empty ones too.
 */

/** The findings of an engine; the rest is filled as SearXNG does. */
export interface EngineResult {
  readonly url: string
  readonly title?: string
  readonly content?: string
  readonly publishedDate?: string | null
  readonly img_src?: string
  readonly thumbnail_src?: string
  readonly thumbnail?: string
  readonly resolution?: string
}

export interface Found {
  readonly results: readonly EngineResult[]
  readonly corrections?: readonly string[]
  readonly unresponsive?: readonly (readonly [string, string])[]
}

type Finding = (received: Received) => Found

const LANGUAGE = /^[a-z]{2,3}(-[a-zA-Z]{2})?$|^auto$/

/** The members of an engine in `/config` that the gateway reads. */
export interface EngineConfig {
  readonly name: string
  readonly categories: readonly string[]
  readonly enabled: boolean
  readonly time_range_support: boolean
}

export const DUCKDUCKGO: EngineConfig = {
  name: 'duckduckgo',
  categories: ['general', 'web'],
  enabled: true,
  time_range_support: true,
}

export const PICTURES: EngineConfig = {
  name: 'bing images',
  categories: ['images', 'web'],
  enabled: true,
  time_range_support: true,
}

export function searxngDouble(
  find: Finding,
  engines: () => readonly EngineConfig[] | null = () => [DUCKDUCKGO, PICTURES],
): HttpDouble {
  return new HttpDouble((received) => {
    const { path, query } = received
    if (path === '/healthz') return new Response('OK')
    if (path === '/config' && engines() !== null) return Response.json({ categories: ['general'], engines: engines() })
    if (path !== '/search') return new Response('not found', { status: 404 })
    if (query.get('format') !== 'json') return new Response('<!doctype html><title>Forbidden</title>', { status: 403 })
    const wrong = complaint(query)
    if (wrong !== null) return Response.json({ error: wrong }, { status: 400 })
    // Engines that cannot search by age are left out, and nothing says so (`EngineProcessor.get_params`).
    const isLeftOut = (query.get('time_range') ?? '') !== '' && !engines()?.some((one) => one.time_range_support)
    if (isLeftOut) return Response.json(searxngBody(query.get('q') ?? '', 'general', { results: [] }))
    return Response.json(searxngBody(query.get('q') ?? '', query.get('categories') ?? 'general', find(received)))
  })
}

function complaint(query: URLSearchParams): string | null {
  if (!query.get('q')?.trim()) return 'No query'
  if (!LANGUAGE.test(query.get('language') ?? 'auto')) return 'Invalid value "language"'
  if (!/^[1-9]\d*$/.test(query.get('pageno') ?? '1')) return 'Invalid value "pageno"'
  if (!/^[012]$/.test(query.get('safesearch') ?? '0')) return 'Invalid value "safesearch"'
  if (!/^(|day|week|month|year)$/.test(query.get('time_range') ?? '')) return 'Invalid value "time_range"'
  return null
}

export function searxngBody(
  q: string,
  category: string,
  { results, corrections = [], unresponsive = [] }: Found,
): object {
  return {
    query: q,
    results: results.map((result, at) => ({
      template: category === 'images' ? 'images.html' : 'default.html',
      title: '',
      content: '',
      publishedDate: null,
      pubdate: '',
      thumbnail: '',
      img_src: '',
      ...(category === 'images' && { thumbnail_src: '', resolution: '', img_format: '', source: '', filesize: '' }),
      iframe_src: '',
      audio_src: '',
      priority: '',
      engine: 'duckduckgo',
      engines: ['duckduckgo'],
      positions: [at + 1],
      score: 1 / (at + 1),
      category,
      parsed_url: parsedUrl(result.url),
      ...result,
    })),
    answers: [],
    corrections,
    infoboxes: [],
    suggestions: [],
    unresponsive_engines: unresponsive,
  }
}

function parsedUrl(address: string): readonly string[] {
  const url = URL.parse(address)
  return url
    ? [url.protocol.slice(0, -1), url.host, url.pathname, '', url.search.slice(1), '']
    : ['', '', '', '', '', '']
}
