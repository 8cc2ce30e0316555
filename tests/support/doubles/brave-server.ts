import { countTokens } from '../../../server/adapters/websearch/passages/token-count'
import { freshnessWindow } from '../../../server/core/catalog/freshness'
import { parseGoggle } from '../../../server/core/goggles/goggle'
import { ruleSet } from '../rule-set'
import { TOKEN_INVALID, validationBody } from './brave-bodies'
import { HttpDouble, type Received } from './http-double'
import { correctionOf, engineFinds, WORLD_IMAGES, WORLD_NOW, WORLD_PAGES, type WorldPage } from './search-world'

const JSON_TYPE = { 'content-type': 'application/json' }

/**
 * A Brave Search API over the small world, by its reference: it takes what Brave takes in the
 * names and places where Brave takes it, refuses what Brave refuses, and answers in Brave's layouts. A parameter that we send
 * wrong has no effect here either.
 */
export function braveServer(apiKey: string): HttpDouble {
  return new HttpDouble((received) => {
    if (received.headers.get('x-subscription-token') !== apiKey) return refusal(TOKEN_INVALID)
    const wish = fieldsOf(received)
    if (received.path === '/res/v1/images/search') return images(wish)
    if (received.path === '/res/v1/llm/context') return context(wish, received.headers)
    return new Response('', { status: 404 })
  })
}

type Wish = (name: string) => readonly string[]

function fieldsOf({ method, query, body }: Received): Wish {
  if (method === 'GET') return (name) => query.getAll(name)
  const fields = JSON.parse(body) as Record<string, unknown>
  return (name) => (fields[name] === undefined ? [] : [fields[name]].flat().map(String))
}

const refusal = (body: string) => new Response(body, { status: 422, headers: JSON_TYPE })
const one = (wish: Wish, name: string, fallback: string) => wish(name)[0] ?? fallback
const number = (wish: Wish, name: string, fallback: number) => Number(wish(name)[0] ?? fallback)

function images(wish: Wish): Response {
  const safesearch = one(wish, 'safesearch', 'strict')
  if (safesearch !== 'off' && safesearch !== 'strict')
    return refusal(validationBody(['query', 'safesearch'], safesearch))
  const original = one(wish, 'q', '')
  const altered = one(wish, 'spellcheck', 'true') === 'true' ? correctionOf(original) : null
  const found = engineFinds(WORLD_IMAGES, {
    q: altered ?? original,
    lang: one(wish, 'search_lang', 'en'),
    country: one(wish, 'country', 'US'),
    maxAdult: safesearch === 'off' ? 2 : 0,
  })
  return Response.json({
    type: 'images',
    query: { original, ...(altered && { altered }), spellcheck_off: false, show_strict_warning: false },
    results: found.slice(0, number(wish, 'count', 50)).map(({ page, title, file }) => ({
      type: 'image_result',
      title,
      url: page,
      source: new URL(page).hostname,
      page_fetched: '2024-01-15T10:30:00Z',
      thumbnail: { src: file, width: 200, height: 150 },
      properties: { url: file, placeholder: file, width: 1920, height: 1080 },
      meta_url: {
        scheme: 'https',
        netloc: new URL(page).host,
        hostname: new URL(page).hostname,
        favicon: file,
        path: '',
      },
      confidence: 'high',
    })),
    extra: { might_be_offensive: safesearch === 'off' },
  })
}

const MAX_ADULT: Readonly<Record<string, number>> = { off: 2, moderate: 1, strict: 0 }

function context(wish: Wish, headers: Headers): Response {
  const original = one(wish, 'q', '')
  const q = one(wish, 'spellcheck', 'true') === 'true' ? (correctionOf(original) ?? original) : original
  const maxAdult = MAX_ADULT[one(wish, 'safesearch', 'off')] ?? 2
  const wanted = { q, lang: one(wish, 'search_lang', 'en'), country: one(wish, 'country', 'US'), maxAdult }
  const goggles = wish('goggles')
  if (goggles.some((text) => !parseGoggle(text).ok)) return refusal(validationBody(['query', 'goggles'], ''))
  const isFresh = freshness(wish('freshness')[0])
  const ordered = ruleSet(goggles).rerank(engineFinds(WORLD_PAGES, wanted).filter(isFresh), (page) => {
    return { url: addressOf(page), title: page.title, description: '', content: page.sections.join('\n') }
  })
  if (!ordered.ok) return refusal(validationBody(['query', 'goggles'], ''))
  const found = ordered.value
  const places = localRecall(wish, headers) ? found.filter((page) => isNear(page, headers)) : []
  const generic = found.filter(
    (page) => !places.includes(page) && isRelevant(page, q, wish('context_threshold_mode')[0]),
  )
  const chosen = generic.slice(0, Math.min(number(wish, 'count', 20), number(wish, 'maximum_number_of_urls', 20)))
  const [poi, ...map] = places.map((page) => ({ name: page.title, ...grounding(page, page.sections) }))
  return Response.json({
    grounding: { generic: budgeted(chosen, wish), poi: poi ?? null, map },
    sources: Object.fromEntries([...places, ...chosen].map((page) => [addressOf(page), source(page, wish, headers)])),
  })
}

const addressOf = ({ host, path }: WorldPage) => `https://${host}${path}`
const grounding = (page: WorldPage, snippets: readonly string[]) => ({
  url: addressOf(page),
  title: page.title,
  snippets,
})

/** The first section of every page before the second of any, as far as tokens and snippets go. */
function budgeted(pages: readonly WorldPage[], wish: Wish): object[] {
  const filling = pages.map((page) => ({ page, snippets: [] as string[], tokens: 0 }))
  let tokens = number(wish, 'maximum_number_of_tokens', 8192)
  let snippets = number(wish, 'maximum_number_of_snippets', 50)
  for (let at = 0; at < Math.max(0, ...pages.map(({ sections }) => sections.length)); at++)
    for (const into of filling) {
      const text = into.page.sections[at]
      if (text === undefined) continue
      const cost = countTokens(text)
      const isFull = into.snippets.length >= number(wish, 'maximum_number_of_snippets_per_url', 50) || snippets < 1
      if (isFull || cost > tokens || into.tokens + cost > number(wish, 'maximum_number_of_tokens_per_url', 4096) - 10)
        continue
      into.snippets.push(text)
      into.tokens += cost
      tokens -= cost
      snippets -= 1
    }
  return filling.flatMap(({ page, snippets }) => (snippets.length === 0 ? [] : [grounding(page, snippets)]))
}

function freshness(wish: string | undefined): (page: WorldPage) => boolean {
  if (wish === undefined) return () => true
  const { from, before } = freshnessWindow(wish, WORLD_NOW)
  return ({ published = '' }) => published >= from && published < before
}

function isRelevant(page: WorldPage, q: string, mode: string | undefined): boolean {
  if (mode !== 'strict') return true
  const text = [page.title, ...page.sections].join(' ').toLowerCase()
  return (q.toLowerCase().match(/\p{L}{3,}/gu) ?? []).every((word) => text.includes(word))
}

/** Any location header turns it on; so does asking. */
function localRecall(wish: Wish, headers: Headers): boolean {
  const asked = wish('enable_local')[0]
  return asked === undefined ? [...headers.keys()].some((name) => name.startsWith('x-loc-')) : asked === 'true'
}

function isNear({ place }: WorldPage, headers: Headers): boolean {
  if (!place) return false
  const latitude = headers.get('x-loc-lat')
  const longitude = headers.get('x-loc-long')
  if (latitude !== null && longitude !== null)
    return Math.abs(place.latitude - Number(latitude)) < 0.4 && Math.abs(place.longitude - Number(longitude)) < 0.4
  const says = (name: string, value: string) => (headers.get(name) ?? value) === value
  return says('x-loc-city', place.city) && says('x-loc-state', place.state) && says('x-loc-country', place.country)
}

function source(page: WorldPage, wish: Wish, headers: Headers): object {
  const { published } = page
  const dates = published ? ['A day', published.slice(0, 10), 'some time ago', published] : null
  const isFirst = headers.get('api-version') === '2026-02-06'
  return {
    title: page.title,
    hostname: page.host,
    age: dates ? dates.slice(0, isFirst ? 3 : 4) : isFirst ? null : [],
    ...(one(wish, 'enable_source_metadata', 'false') === 'true' && {
      site_name: page.host,
      favicon: `https://${page.host}/favicon.ico`,
      thumbnail: { src: `https://${page.host}/t.png`, original: `https://${page.host}/t.png` },
      description: page.title,
      fetched_content_timestamp: Math.floor(WORLD_NOW / 1000),
    }),
  }
}
