import { SearxngBench } from '../adapters/websearch/searxng/searxng-bench'
import type { Received } from '../support/doubles/http-double'
import {
  correctionOf,
  engineFinds,
  WORLD_IMAGES,
  WORLD_NOW,
  WORLD_PAGES,
  type WorldPage,
} from '../support/doubles/search-world'
import type { Found } from '../support/doubles/searxng-server'
import { websearchContract } from './websearch.contract'

const RANGE_DAYS: Readonly<Record<string, number>> = { day: 1, week: 7, month: 31, year: 365 }
const RATINGS = ['general', 'mature', 'adult']

/** The findings of engines behind a SearXNG: they order by language and country, know ranges, and pass adult pages through. */
function find(bench: SearxngBench, { query }: Received): Found {
  const q = query.get('q') ?? ''
  const [lang = 'en', country = 'ALL'] = (query.get('language') ?? 'en').split('-')
  const corrections = [correctionOf(q)].flatMap((text) => (text === null ? [] : [text]))
  const wanted = { q, lang, country, maxAdult: 2 }
  if (query.get('categories') === 'images') {
    const found = engineFinds(WORLD_IMAGES, { ...wanted, maxAdult: query.get('safesearch') === '2' ? 0 : 2 })
    return {
      corrections,
      results: found.map(({ page, title, file }) => ({ url: page, title, img_src: file, resolution: '1920x1080' })),
    }
  }
  const days = RANGE_DAYS[query.get('time_range') ?? '']
  const from = days === undefined ? '' : new Date(WORLD_NOW - days * 86_400_000).toISOString()
  const found = engineFinds(WORLD_PAGES, wanted).filter(({ published = '' }) => published >= from)
  return {
    corrections,
    results: found.map(({ host, path, title, sections }) => {
      return { url: bench.at(`${host}${path}`), title, content: (sections[0] ?? '').slice(0, 120) }
    }),
  }
}

function html({ title, sections, lang, published, adult }: WorldPage): string {
  const date = published ? `<meta property="article:published_time" content="${published}">` : ''
  const head = `<title>${title}</title><meta name="description" content="${title}"><meta name="rating" content="${RATINGS[adult]}">${date}`
  const body = sections.map((text, at) => `<h2>Part ${at}</h2><p>${text}</p>`).join('')
  return `<!doctype html><html lang="${lang}"><head>${head}</head><body><article>${body}</article></body></html>`
}

websearchContract(
  'searxng',
  async () => {
    const bench = new SearxngBench()
    bench.find = (received) => find(bench, received)
    for (const page of WORLD_PAGES)
      bench.pages[`${page.host}${page.path}`] = () =>
        new Response(html(page), { headers: { 'content-type': 'text/html; charset=utf-8' } })
    const plug = bench.open()
    return {
      ...plug,
      async close() {
        await plug.close()
        await bench.stop()
      },
    }
  },
  { noPlaces: true },
)
