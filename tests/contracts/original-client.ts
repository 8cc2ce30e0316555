import { expect } from 'bun:test'

/**
 * The answers as a client of the original service reads them. The witness is the package
 * `@brave/brave-search-mcp-server` 2.1.4 (npm), `dist/tools/images/schemas` and `dist/tools/llm_context/schemas`: the fields
 * below are those that its schemas ask for, and a field that they call optional may be absent but not null.
 */
export interface ImagesRead {
  readonly items: readonly { readonly title: string; readonly url: string; readonly file: string }[]
  readonly query: { readonly original: string; readonly altered?: string }
  readonly mightBeOffensive: boolean
}

export interface ContextRead {
  readonly pages: readonly { readonly url: string; readonly title: string; readonly snippets: readonly string[] }[]
  readonly poi: { readonly name: string; readonly url: string } | null
  readonly map: readonly { readonly name: string; readonly url: string }[]
  readonly sources: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly query: { readonly original: string; readonly altered?: string }
}

/** The image results that the client shows: it leaves out those without an address, a date, a confidence or a size. */
export function readImages(json: string): ImagesRead {
  const { type, query, results, extra } = JSON.parse(json)
  expect(type).toBe('images')
  expect(typeof query.original).toBe('string')
  expect(typeof extra.might_be_offensive).toBe('boolean')
  const items = results.filter((result: { properties?: { width?: unknown } }) => isShown(result))
  expect(items.length).toBe(results.length)
  return {
    items: items.map(({ title, url, properties }: { title: string; url: string; properties: { url: string } }) => {
      return { title, url, file: properties.url }
    }),
    query,
    mightBeOffensive: extra.might_be_offensive,
  }
}

function isShown(result: Record<string, unknown>): boolean {
  const { title, url, page_fetched, confidence, properties } = result
  const file = properties as { url?: unknown; width?: unknown; height?: unknown }
  return (
    typeof title === 'string' &&
    URL.canParse(String(url)) &&
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(String(page_fetched)) &&
    ['low', 'medium', 'high'].includes(String(confidence)) &&
    URL.canParse(String(file.url)) &&
    [file.width, file.height].every((side) => Number.isInteger(side) && Number(side) > 0)
  )
}

export function readContext(json: string): ContextRead {
  const { grounding, sources, query } = JSON.parse(json)
  for (const page of grounding.generic) expectGrounding(page)
  if (grounding.poi !== null && grounding.poi !== undefined) expectGrounding(grounding.poi, true)
  for (const place of grounding.map) expectGrounding(place, true)
  for (const [url, source] of Object.entries(sources)) {
    expect(URL.canParse(url)).toBe(true)
    const { title, hostname, site_name, favicon, thumbnail } = source as Record<string, unknown>
    for (const text of [title, hostname, site_name, favicon]) expect(['string', 'undefined']).toContain(typeof text)
    expect(['object', 'undefined']).toContain(typeof thumbnail)
    expect(thumbnail).not.toBeNull()
  }
  const used = [...grounding.generic, ...grounding.map, ...(grounding.poi ? [grounding.poi] : [])].map(({ url }) => url)
  expect(used.filter((url) => !(url in sources))).toEqual([])
  return { pages: grounding.generic, poi: grounding.poi ?? null, map: grounding.map, sources, query }
}

function expectGrounding(page: Record<string, unknown>, isPlace = false): void {
  expect(URL.canParse(String(page['url']))).toBe(true)
  expect(typeof page['title']).toBe('string')
  if (isPlace) expect(typeof page['name']).toBe('string')
  const { snippets } = page as { snippets: unknown[] }
  expect(snippets.length).toBeGreaterThan(0)
  expect(snippets.every((text) => typeof text === 'string' && text !== '')).toBe(true)
}
