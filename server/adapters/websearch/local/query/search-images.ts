import type { Client } from '@libsql/client'
import type { SearchTerm } from '../../passages/search-terms'
import { allOf, anyOf, likeness } from './full-text-query'
import { type Region, regionWeight } from './region-weight'
import { selectRows } from './select-rows'

export interface FoundImage {
  readonly pageUrl: string
  readonly title: string
  /** Absolute, or a path of this gateway. */
  readonly imageUrl: string
  /** In pixels; null when unknown. */
  readonly width: number | null
  readonly height: number | null
  /** UNIX seconds. */
  readonly fetchedAt: number
  readonly adult: boolean
  readonly favicon: string
  /** `high` if the title matches the query, `medium` if every word was found, `low` if some were. */
  readonly confidence: 'low' | 'medium' | 'high'
}

export interface ImageSearch {
  readonly terms: readonly SearchTerm[]
  /** Maximum number of images. */
  readonly count: number
  readonly region: Region
  /** 0 none, 1 adult themes, 2 explicit. */
  readonly maxAdult: number
}

export interface FoundImages {
  readonly images: readonly FoundImage[]
  /** Whether the adult filter removed images that also match the query. */
  readonly hidAdult: boolean
}

/** All titles of icons end in this word, so it says nothing about relevance. */
const COMMON_TITLE_WORD = /\bicon\b/gi
const HIGH_LIKENESS = 0.6

const SEARCH = `
  SELECT i.*, rank AS score FROM image_words JOIN images i ON i.id = image_words.rowid
  WHERE image_words MATCH ? AND rank MATCH 'bm25(3.0, 1.0)' AND i.adult <= ?
  ORDER BY rank LIMIT ?`
const HIDDEN = `
  SELECT 1 FROM image_words JOIN images i ON i.id = image_words.rowid WHERE image_words MATCH ? AND i.adult > ? LIMIT 1`

/** The images that match a query: first those with every word, then those with some, each best first. */
export async function searchImages(client: Client, search: ImageSearch): Promise<FoundImages> {
  const { terms, count, maxAdult } = search
  const [every, some] = [allOf(terms), anyOf(terms)]
  const all = ranked(await matching(client, every, search), search, true)
  const images = all.slice(0, count)
  if (images.length < count && terms.length > 1) {
    const taken = new Set(all.map((image) => image.imageUrl))
    const any = ranked(await matching(client, some, search), search, false)
    images.push(...any.filter((image) => !taken.has(image.imageUrl)).slice(0, count - images.length))
  }
  const relevant = all.length > 0 ? every : some
  const hidAdult = (await selectRows(client, HIDDEN, [relevant, maxAdult])).length > 0
  return { images, hidAdult }
}

interface ImageRow {
  readonly page_url: string
  readonly title: string
  readonly image_url: string
  readonly width: number | null
  readonly height: number | null
  readonly fetched_at: number
  readonly lang: string | null
  readonly country: string | null
  readonly adult: number
  readonly favicon: string
  readonly score: number
}

function matching(client: Client, expression: string, search: ImageSearch): Promise<ImageRow[]> {
  return selectRows(client, SEARCH, [expression, search.maxAdult, search.count + 100])
}

function ranked(rows: readonly ImageRow[], { terms, region }: ImageSearch, hasAll: boolean): FoundImage[] {
  return rows
    .map((row) => {
      const fit = likeness(terms, row.title.replaceAll(COMMON_TITLE_WORD, ''))
      return { row, fit, score: -row.score * (1 + 2 * fit) * regionWeight(row, region) }
    })
    .sort((a, b) => b.score - a.score)
    .map(({ row, fit }) => ({
      pageUrl: row.page_url,
      title: row.title,
      imageUrl: row.image_url,
      width: row.width,
      height: row.height,
      fetchedAt: row.fetched_at,
      adult: row.adult > 0,
      favicon: row.favicon,
      confidence: !hasAll ? 'low' : fit >= HIGH_LIKENESS ? 'high' : 'medium',
    }))
}
