import type { Brand } from '../../core/brand'
import type { ModelCatalog } from '../../core/models/model-catalog'
import { type CatalogParts, catalogEntries } from '../apis/catalog-routes'
import { wireModel } from '../models/record'
import type { DashboardFiles } from '../system/dashboard-files'
import { apiPage, frontPage, type Shop } from './storefront-page'

/** A page is written anew at most this often: prices change without a version. */
const FRESH_MS = 5_000
const DAY_SECONDS = 86_400
const SESSION_COOKIE = /(?:^|[; ])(?:__Secure-)?better-auth\.session_token=/

export interface StorefrontParts extends CatalogParts {
  readonly brand: Brand
  /** Whether strangers at `/` see what is sold. */
  readonly storefront: boolean
  readonly baseUrl: string
  readonly models: Pick<ModelCatalog, 'listFor'>
  readonly dashboard: DashboardFiles
  readonly now: () => number
}

/**
 * Pages for strangers and their search engines: what is sold at `/`, one page per API, robots.txt, sitemap.xml, icon and logo. Everything
 * else, and `/` for who is signed in, is the dashboard's.
 */
export function storefront(parts: StorefrontParts): DashboardFiles {
  const { brand, dashboard, baseUrl } = parts
  const shop = freshShop(parts)
  return {
    answer(request) {
      if (request.method !== 'GET' && request.method !== 'HEAD') return dashboard.answer(request)
      const { pathname } = new URL(request.url)
      const found = parts.storefront ? shopAnswer(pathname, request, shop) : null
      const answer = found ?? fileAnswer(pathname, brand, baseUrl, parts.storefront)
      if (answer === null) return dashboard.answer(request)
      return request.method === 'HEAD' ? new Response(null, answer) : answer
    },
  }
}

type ReadShop = () => Shop

function shopAnswer(path: string, { headers }: Request, shop: ReadShop): Response | null {
  if (path === '/') return SESSION_COOKIE.test(headers.get('cookie') ?? '') ? null : frontPage(shop())
  const name = /^\/catalogue\/([^/]+)$/.exec(path)?.[1]
  if (name !== undefined) return apiPage(shop(), name)
  return path === '/sitemap.xml' ? sitemap(shop()) : null
}

function fileAnswer(path: string, { logo }: Brand, baseUrl: string, isOpen: boolean): Response | null {
  switch (path) {
    case '/robots.txt':
      return file(robots(baseUrl, isOpen), 'text/plain; charset=utf-8')
    case '/favicon.ico':
      return new Response(null, { status: 302, headers: { location: logo ? '/brand/logo' : '/favicon.svg' } })
    case '/brand/logo':
      return logo && file(logo.bytes, logo.type)
    default:
      return null
  }
}

/** What is on sale, read at most once in `FRESH_MS`. */
function freshShop(parts: StorefrontParts): ReadShop {
  const entries = catalogEntries(parts)
  let known: { readonly at: number; readonly shop: Shop } | null = null
  return () => {
    const at = parts.now()
    if (known && Math.abs(at - known.at) < FRESH_MS) return known.shop
    const { brand, baseUrl } = parts
    const shop = {
      brand,
      baseUrl,
      operations: entries().map((entry) => entry.record()),
      models: parts.models.listFor(null).map(wireModel),
    }
    known = { at, shop }
    return shop
  }
}

function robots(baseUrl: string, isOpen: boolean): string {
  if (!isOpen) return 'User-agent: *\nDisallow: /\n'
  const closed = ['/api/', '/apis/', '/v1/', '/v1beta/', '/mcp', '/sign-in', '/sign-up']
  return ['User-agent: *', ...closed.map((path) => `Disallow: ${path}`), `Sitemap: ${baseUrl}/sitemap.xml`, ''].join(
    '\n',
  )
}

function sitemap({ baseUrl, operations }: Shop): Response {
  const apis = [...new Set(operations.map(({ api }) => api))]
  const pages = ['/', '/docs', '/docs/guide', ...apis.map((api) => `/catalogue/${encodeURIComponent(api)}`)]
  const urls = pages.map((path) => `<url><loc>${Bun.escapeHTML(baseUrl + path)}</loc></url>`)
  const xml = `<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${urls.join('')}</urlset>\n`
  return file(xml, 'application/xml; charset=utf-8')
}

function file(body: string | Uint8Array<ArrayBuffer>, type: string): Response {
  return new Response(body, {
    headers: {
      'content-type': type,
      'cache-control': `public, max-age=${DAY_SECONDS}`,
      // A logo may be opened alone, and SVG could hold a script.
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
      'x-content-type-options': 'nosniff',
    },
  })
}
