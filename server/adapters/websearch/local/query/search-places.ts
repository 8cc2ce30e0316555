import type { Client } from '@libsql/client'
import { folded, type SearchTerm } from '../../passages/search-terms'
import { selectRows } from './select-rows'

/** Where the caller is, or the place that it asks about. */
export type CallerLocation =
  | { readonly kind: 'point'; readonly latitude: number; readonly longitude: number }
  | {
      readonly kind: 'names'
      readonly city: string | null
      readonly states: readonly string[]
      readonly country: string | null
      readonly postalCode: string | null
    }

/** A document with a place nearby. */
export interface NearDocument {
  readonly document: number
  /** The factor for its score, at most 1, lower with distance. */
  readonly nearness: number
}

const REACH_KM = 100
/** At this distance the factor is one half. */
const HALF_KM = 10
const KM_PER_DEGREE = 111.2
const MAX_PLACES = 1000
/** Words that only say that something nearby is meant. */
const NEAR_WORDS = new Set(['near', 'nearby', 'nearest', 'closest', 'around', 'here', 'local'])

/** The words of a query without those of `NEAR_WORDS`. */
export function termsAtPlace(terms: readonly SearchTerm[]): SearchTerm[] {
  return terms.filter(({ word }) => !NEAR_WORDS.has(word))
}

/** The documents with a place there. By coordinates: within 100 km. By names: those whose names do not contradict. */
export function documentsNear(client: Client, where: CallerLocation): Promise<NearDocument[]> {
  return where.kind === 'point' ? byDistance(client, where) : byName(client, where)
}

async function byDistance(
  client: Client,
  { latitude, longitude }: Extract<CallerLocation, { kind: 'point' }>,
): Promise<NearDocument[]> {
  const reach = REACH_KM / KM_PER_DEGREE
  const sql = 'SELECT document, latitude, longitude FROM places WHERE latitude BETWEEN ? AND ?'
  const rows = await selectRows<{ document: number; latitude: number; longitude: number }>(client, sql, [
    latitude - reach,
    latitude + reach,
  ])
  return rows
    .map((row) => ({ document: row.document, km: distanceKm(latitude, longitude, row.latitude, row.longitude) }))
    .filter(({ km }) => km <= REACH_KM)
    .sort((a, b) => a.km - b.km)
    .slice(0, MAX_PLACES)
    .map(({ document, km }) => ({ document, nearness: 1 / (1 + km / HALF_KM) }))
}

/** The great-circle distance on a sphere. */
function distanceKm(latitude1: number, longitude1: number, latitude2: number, longitude2: number): number {
  const radians = (degrees: number) => (degrees * Math.PI) / 180
  const a =
    Math.sin(radians(latitude2 - latitude1) / 2) ** 2 +
    Math.cos(radians(latitude1)) * Math.cos(radians(latitude2)) * Math.sin(radians(longitude2 - longitude1) / 2) ** 2
  return 2 * 6371 * Math.asin(Math.min(1, Math.sqrt(a)))
}

interface PlaceRow {
  readonly document: number
  readonly state: string | null
  readonly country: string | null
  readonly postal_code: string | null
}

async function byName(client: Client, where: Extract<CallerLocation, { kind: 'names' }>): Promise<NearDocument[]> {
  const sql = `SELECT document, state, country, postal_code FROM places WHERE ? = '' OR city = ? LIMIT ${MAX_PLACES}`
  const city = where.city === null ? '' : folded(where.city)
  const rows = await selectRows<PlaceRow>(client, sql, [city, city])
  const states = where.states.map(folded)
  return rows
    .filter((row) => states.length === 0 || row.state === null || states.includes(row.state))
    .filter((row) => where.country === null || row.country === null || row.country === where.country.toUpperCase())
    .map((row) => {
      const isSameCode = where.postalCode !== null && row.postal_code === folded(where.postalCode)
      return { document: row.document, nearness: where.postalCode === null || isSameCode ? 1 : 0.7 }
    })
}
