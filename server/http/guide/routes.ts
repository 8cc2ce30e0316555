import { Elysia } from 'elysia'
import { GUIDE_PATH, type Guide } from '../../core/guide/guide'
import { UNDOCUMENTED } from '../openapi/documented'
import { guidePage, missingGuidePage, searchPage } from './guide-page'

const SCHEMA = 'gateway.schema.json'
const MAX_QUERY = 200

export interface GuideParts {
  /** The documentation, read when somebody first opens it. */
  readonly guide: () => Promise<Guide>
}

/** The documentation of the project, for people: pages, their pictures, a search, and the JSON Schema of `gateway.yaml`. */
export function guideRoutes({ guide }: GuideParts) {
  return new Elysia({ name: 'guide' })
    .get(GUIDE_PATH, async ({ query }) => pageOrHits(await guide(), query['q']), UNDOCUMENTED)
    .get(`${GUIDE_PATH}/*`, async ({ params }) => pageOrFile(await guide(), params['*']), UNDOCUMENTED)
    .get('/schemas/gateway.json', async () => pageOrFile(await guide(), SCHEMA), UNDOCUMENTED)
}

function pageOrHits(guide: Guide, given: unknown): Response {
  const query = typeof given === 'string' ? given.slice(0, MAX_QUERY).trim() : ''
  if (query !== '') return searchPage(guide, query, guide.search(query))
  const first = guide.page('')
  return first === null ? missingGuidePage(guide) : guidePage(guide, first)
}

function pageOrFile(guide: Guide, path: string): Response {
  const page = guide.page(path.replace(/\/$/, ''))
  if (page !== null) return guidePage(guide, page)
  const file = guide.file(path)
  if (file === null) return missingGuidePage(guide)
  return new Response(file.bytes, {
    headers: {
      'content-type': file.type,
      'cache-control': 'no-cache',
      // A picture may be opened alone, and SVG could hold a script.
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    },
  })
}
