import type { parseHTML } from 'linkedom'
import { partsOf } from '../../../core/json'
import { boundedJson } from '../../../core/json-bounds'
import type { PagePlace } from './page-place'

/** The parts of a page's JSON-LD that a search uses. */
export interface StructuredData {
  readonly published?: string
  readonly place?: PagePlace
}

/** Limits on the objects that are read and the values that are searched for them. */
const MAX_NODES = 500
const MAX_VALUES = 10_000

/** Reads `<script type="application/ld+json">`: when the page was published, and the place it is about. */
export function structuredData(document: ReturnType<typeof parseHTML>['document']): StructuredData {
  const nodes = [...document.querySelectorAll('script[type="application/ld+json"]')].flatMap((script) =>
    nodesOf(boundedJson(script.textContent ?? '')),
  )
  const published = nodes.map((node) => string(node, 'datePublished')).find((date) => date !== undefined)
  const place = nodes.map(placeOf).find((found) => found !== undefined)
  return { ...(published ? { published } : {}), ...(place ? { place } : {}) }
}

/** The objects in a JSON-LD document, the outer ones first. */
function nodesOf(root: unknown): object[] {
  const found: object[] = []
  const values = [root]
  for (const value of values) {
    if (found.length === MAX_NODES) break
    if (typeof value !== 'object' || value === null) continue
    if (!Array.isArray(value)) found.push(value)
    values.push(...partsOf(value).slice(0, MAX_VALUES - values.length))
  }
  return found
}

function placeOf(node: object): PagePlace | undefined {
  const geo = child(node, 'geo')
  const address = child(node, 'address')
  const latitude = geo && number(geo, 'latitude')
  const longitude = geo && number(geo, 'longitude')
  const city = address && string(address, 'addressLocality')
  if ((latitude === undefined || longitude === undefined) && city === undefined) return undefined
  const name = string(node, 'name')
  const state = address && string(address, 'addressRegion')
  const country = address && string(address, 'addressCountry')
  const postalCode = address && string(address, 'postalCode')
  return {
    ...(latitude === undefined || longitude === undefined ? {} : { latitude, longitude }),
    ...(name ? { name } : {}),
    ...(city ? { city } : {}),
    ...(state ? { state } : {}),
    ...(country ? { country } : {}),
    ...(postalCode ? { postalCode } : {}),
  }
}

function child(node: object, name: string): object | undefined {
  const value: unknown = Reflect.get(node, name)
  return typeof value === 'object' && value !== null ? value : undefined
}

function string(node: object, name: string): string | undefined {
  const value: unknown = Reflect.get(node, name)
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined
}

function number(node: object, name: string): number | undefined {
  const value = Number.parseFloat(String(Reflect.get(node, name)))
  return Number.isFinite(value) ? value : undefined
}
