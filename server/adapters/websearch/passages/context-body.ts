import { type ApiVersion, CONTEXT_BEHAVIOR } from '../../../core/catalog/api-version'
import type { Grounding } from './context-budget'
import type { PageFacts } from './ranked-page'

/** The input of a context response. */
export interface ContextParts {
  readonly query: {
    readonly original: string
    /** The corrected query, when it differs from the original one. */
    readonly altered?: string
    /** Whether the caller turned off the spell check. */
    readonly spellcheckOff: boolean
  }
  readonly generic: readonly Grounding[]
  /** The pages of local recall, the best first; it becomes `poi`, the others `map`. */
  readonly places: readonly Grounding[]
  readonly withMetadata: boolean
  readonly apiVersion: ApiVersion
  /** The beginning of addresses of this gateway's own pictures. */
  readonly baseUrl: string
  readonly nowMs: number
}

/** The 200 body of an LLM context search, as JSON text. */
export function contextBody(parts: ContextParts): string {
  const { query, generic, places } = parts
  const [poi, ...map] = places.map(placeOf)
  return JSON.stringify({
    query: {
      original: query.original,
      ...(query.altered === undefined ? {} : { altered: query.altered }),
      ...(query.spellcheckOff ? { spellcheck_off: true } : {}),
    },
    grounding: {
      generic: generic.map(({ page, snippets }) => ({ url: page.url, title: page.title, snippets })),
      poi: poi ?? null,
      map,
    },
    sources: Object.fromEntries([...places, ...generic].map(({ page }) => [page.url, source(page, parts)])),
  })
}

function placeOf({ page, snippets }: Grounding): object {
  return { name: page.placeName ?? page.title, url: page.url, title: page.title, snippets }
}

function source(page: PageFacts, { withMetadata, apiVersion, baseUrl, nowMs }: ContextParts): object {
  const plain = { title: page.title, hostname: page.hostname, age: age(page.published, nowMs, apiVersion) }
  if (!withMetadata) return plain
  const thumbnail = page.thumbnail === null ? null : absoluteAddress(page.thumbnail, baseUrl)
  return {
    ...plain,
    site_name: page.siteName,
    ...(page.favicon === null ? {} : { favicon: page.favicon }),
    ...(thumbnail === null ? {} : { thumbnail: { src: thumbnail, original: thumbnail } }),
    description: page.description,
    fetched_content_timestamp: page.fetchedAt,
  }
}

/** A page's URL in the response: paths of this gateway become absolute under `baseUrl`, others are kept. */
export function absoluteAddress(address: string, baseUrl: string): string {
  return address.startsWith('/') ? baseUrl.replace(/\/+$/, '') + address : address
}

/**
 * When a page was published: long English date, `YYYY-MM-DD`, age and, depending on the version, the RFC 3339
 * timestamp. Empty or null if unknown.
 */
function age(published: string | null, nowMs: number, apiVersion: ApiVersion): readonly string[] | null {
  const { hasExactAge, unknownAge } = CONTEXT_BEHAVIOR[apiVersion]
  if (published === null) return unknownAge
  const at = new Date(published)
  const long = at.toLocaleDateString('en-US', {
    weekday: 'long',
    year: 'numeric',
    month: 'long',
    day: 'numeric',
    timeZone: 'UTC',
  })
  const days = Math.max(0, Math.floor((nowMs - at.getTime()) / 86_400_000))
  const relative = days === 0 ? 'today' : days === 1 ? '1 day ago' : `${days} days ago`
  const renderings = [long, published.slice(0, 10), relative]
  return hasExactAge ? [...renderings, published] : renderings
}
