import type { AdultLevel } from '../../passages/page-content'
import type { PagePlace } from '../../passages/page-place'

/** The front matter of a Markdown or text file. */
export interface FrontMatter {
  readonly url?: string
  readonly title?: string
  readonly siteName?: string
  readonly description?: string
  /** ISO timestamp. */
  readonly published?: string
  readonly lang?: string
  readonly country?: string
  readonly adult?: AdultLevel
  readonly place?: PagePlace
}

const FENCED = /^\uFEFF?---\r?\n([\s\S]{0,20000}?)\r?\n---(?:\r?\n|$)/

/** Splits the YAML between two `---` lines from the start of a text. Ignores invalid YAML and unknown properties. */
export function takeFrontMatter(text: string): { readonly front: FrontMatter; readonly body: string } {
  const [whole, yaml] = FENCED.exec(text) ?? []
  if (whole === undefined || yaml === undefined) return { front: {}, body: text }
  return { front: frontMatterOf(parsed(yaml)), body: text.slice(whole.length) }
}

function parsed(yaml: string): object {
  try {
    const value: unknown = Bun.YAML.parse(yaml)
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}

function frontMatterOf(values: object): FrontMatter {
  const url = URL.parse(words(values, 'url') ?? '')
  const published = instant(Reflect.get(values, 'published') ?? Reflect.get(values, 'date'))
  const adult = adultLevel(Reflect.get(values, 'adult'))
  const place = placeOf(Reflect.get(values, 'geo'))
  const country = words(values, 'country')
  return {
    ...(url && /^https?:$/.test(url.protocol) ? { url: url.href } : {}),
    ...only('title', words(values, 'title')),
    ...only('siteName', words(values, 'site_name')),
    ...only('description', words(values, 'description')),
    ...only('published', published),
    ...only('lang', words(values, 'lang')),
    ...only('country', /^[A-Za-z]{2}$/.test(country ?? '') ? country : undefined),
    ...(adult === undefined ? {} : { adult }),
    ...(place === undefined ? {} : { place }),
  }
}

function only<N extends string>(name: N, value: string | undefined): { readonly [K in N]?: string } {
  return value === undefined ? {} : ({ [name]: value } as { [K in N]: string }) // TypeScript widens a computed name to string
}

function words(values: object, name: string): string | undefined {
  const value: unknown = Reflect.get(values, name)
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined
}

function instant(value: unknown): string | undefined {
  const at = value instanceof Date ? value : typeof value === 'string' ? new Date(value) : null
  return at && !Number.isNaN(at.getTime()) ? at.toISOString() : undefined
}

/** `true` and `explicit` mean explicit; `mature` means adult themes. */
function adultLevel(value: unknown): AdultLevel | undefined {
  if (value === true || value === 'explicit') return 2
  if (value === 'mature') return 1
  return value === false ? 0 : undefined
}

/** `52.52, 13.40`, or a map with lat, lon, name, city, state, country and postal_code. */
function placeOf(value: unknown): PagePlace | undefined {
  const [, latitude, longitude] =
    /^\s*(-?[\d.]+)\s*[,;]\s*(-?[\d.]+)\s*$/.exec(typeof value === 'string' ? value : '') ?? []
  if (latitude && longitude) return point(Number(latitude), Number(longitude))
  if (typeof value !== 'object' || value === null) return undefined
  const numberOf = (...names: string[]) =>
    Number(names.map((name) => words(value, name)).find((found) => found !== undefined))
  const place: PagePlace = {
    ...point(numberOf('lat', 'latitude'), numberOf('lon', 'long', 'lng', 'longitude')),
    ...only('name', words(value, 'name')),
    ...only('city', words(value, 'city')),
    ...only('state', words(value, 'state')),
    ...only('country', words(value, 'country')),
    ...only('postalCode', words(value, 'postal_code')),
  }
  return place.latitude === undefined && place.city === undefined ? undefined : place
}

function point(latitude: number, longitude: number): PagePlace | undefined {
  return Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180 ? { latitude, longitude } : undefined
}
