import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { DEFAULT_BRAND } from '../../core/brand'
import { acceptedEncoding, ENCODINGS, type Encoding } from '../middleware/response/accepted-encoding'
import { pagePreloads } from './page-preloads'

/** The built dashboard, kept in memory. */
export type DashboardFiles = {
  /**
   * The response to a request that matched no route, or null if it is not for the dashboard: a method other than GET or HEAD,
   * a path of the API, a file that does not exist, or a page for a caller who asks for JSON. Those remain 404s of the API.
   */
  answer(request: Request): Response | null
}

type StoredFile = {
  type: string
  /** Whether it is a page. Pages carry security headers, and the index page serves paths without a file. */
  html: boolean
  cacheControl: string
  bodies: ReadonlyMap<Encoding | 'identity', StoredBody>
}
type StoredBody = { bytes: Uint8Array<ArrayBuffer>; etag(): string }

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  json: 'application/json',
  webmanifest: 'application/manifest+json',
  txt: 'text/plain; charset=utf-8',
  png: 'image/png',
  ico: 'image/x-icon',
  woff2: 'font/woff2',
}

const MANIFEST = '/.vite/manifest.json'

/** Under these paths, a missing file is the API's 404, never a page; also in another letter case, or with more slashes. */
const NOT_PAGES =
  /^\/+(api|apis|v1|v1beta|mcp|docs|vendor|media|sandbox|health|ready|metrics|\.well-known|openapi\.json|assets)(\/|$)/i

/** The pages of the dashboard's router. Any other path gets the page that says so, with the status 404. */
export const PAGES: readonly string[] = [
  ...['/invite', '/members'],
  ...['/', '/apps', '/audit', '/billing', '/catalogue', '/confirm-email', '/consent', '/device', '/forgot-password'],
  ...['/keys', '/keys/$id', '/limits', '/notices', '/operator', '/operator/accounts/$id', '/operator/apis'],
  ...['/operator/apis/$name', '/operator/apis/$name/import', '/operator/apis/import/new', '/operator/audit'],
  ...[
    '/operator/models',
    '/operator/money',
    '/playground',
    '/requests/$id',
    '/reset-password',
    '/settings',
    '/sign-in',
    '/sign-up',
  ],
  ...['/social', '/usage', '/webhooks', '/welcome'],
]
const IS_PAGE = new RegExp(`^(${PAGES.join('|').replaceAll(/\$[a-z]+/g, '[^/]+')})/?$`)

const PAGE_HEADERS = {
  'content-security-policy':
    "default-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "frame-ancestors 'none'; base-uri 'self'; form-action 'self'",
  'referrer-policy': 'strict-origin-when-cross-origin',
  'x-frame-options': 'DENY',
}

/**
 * Pages for sign-in and for granting access. Their addresses contain app requests and email codes, so they send no referrer and are
 * not cached.
 */
const AUTH_PAGES: ReadonlySet<string> = new Set([
  '/sign-in',
  '/sign-up',
  '/consent',
  '/device',
  '/forgot-password',
  '/reset-password',
  '/confirm-email',
])
const AUTH_PAGE = { status: 200, headers: { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' } }
const MISSING = { status: 404, headers: { 'cache-control': 'no-store' } }
const PLAIN = { status: 200, headers: {} }

/**
 * Reads the folder once, with the compressed files of the build; restart to pick up a later build. Its pages have the name of the service.
 * If the folder or its index.html is missing, `/` says that the dashboard has not been built.
 */
export async function loadDashboard(distDir: string, brandName = DEFAULT_BRAND.name): Promise<DashboardFiles> {
  const files = await readFiles(distDir, brandName)
  const index = files.get('/index.html')
  if (index === undefined) return { answer: answerNotBuilt }
  files.set('/', index)
  /** The same with the frame of a signed-in owner's page, which is painted before any script has run. */
  const framed = files.get('/app.html') ?? index
  const preloads = pagePreloads(files.get(MANIFEST)?.bodies.get('identity')?.bytes)
  return {
    answer(request) {
      const path = readPath(request)
      const file =
        path === null ? undefined : (files.get(path) ?? (isPage(path) && wantsPage(request, path) ? index : undefined))
      if (file === undefined || path === null) return null
      const isAuthPage = AUTH_PAGES.has(path)
      // A visitor without a cookie is not signed in, and gets another page.
      const link = file === index && !isAuthPage && request.headers.has('cookie') ? preloads(path) : null
      const isMissing = !files.has(path) && !IS_PAGE.test(path)
      const kind = isMissing ? MISSING : isAuthPage ? AUTH_PAGE : PLAIN
      const answer = answerFile(link === null ? file : framed, request, kind)
      if (link !== null) answer.headers.set('link', link)
      return answer
    },
  }
}

async function readFiles(distDir: string, brandName: string): Promise<Map<string, StoredFile>> {
  const entries = await readdir(distDir, { recursive: true, withFileTypes: true }).catch((failure: unknown) => {
    if (failure instanceof Error && 'code' in failure && failure.code === 'ENOENT') return []
    throw failure
  })
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const contents = new Map(await Promise.all(paths.map(async (path) => [path, await readFile(path)] as const)))
  const files = new Map<string, StoredFile>()
  for (const [path, content] of contents) {
    if (/\.(br|zst|gz)$/.test(path)) continue
    const urlPath = `/${relative(distDir, path).split(sep).join('/')}`
    const page = urlPath.endsWith('.html') ? named(content, brandName) : content
    const compressed = (extension: string) => (page === content ? contents.get(path + extension) : undefined)
    files.set(urlPath, storedFile(urlPath, page, compressed))
  }
  return files
}

/** A page of the build with another name for the service; as it is for the one that it has. A small page needs no compression. */
function named(page: Bytes, name: string): Bytes {
  if (name === DEFAULT_BRAND.name) return page
  const text = Bun.escapeHTML(name)
  // By functions: a "$" of the name would be a pattern in a text.
  const html = page.toString().replaceAll(`>${DEFAULT_BRAND.name}<`, () => `>${text}<`)
  return Buffer.from(html.replace('<title>', () => `<meta name="service" content="${text}" />\n    <title>`))
}

const EXTENSIONS: Readonly<Record<Encoding, string>> = { br: '.br', zstd: '.zst', gzip: '.gz' }

type Bytes = Buffer<ArrayBuffer>

function storedFile(path: string, plain: Bytes, compressed: (extension: string) => Bytes | undefined): StoredFile {
  let hash: string | null = null
  /** At the first answer: a start that hashes all files takes longer by a tenth. */
  const hashed = () => (hash ??= createHash('sha256').update(plain).digest('base64url').slice(0, 22))
  const contents = ENCODINGS.map((encoding) => [encoding, compressed(EXTENSIONS[encoding])] as const)
  const bodies = new Map<Encoding | 'identity', StoredBody>()
  for (const [encoding, content] of [...contents, ['identity', plain] as const]) {
    // Each encoding has different bytes, so it needs its own tag.
    if (content) bodies.set(encoding, { bytes: content, etag: () => `"${hashed()}-${encoding}"` })
  }
  return {
    type: TYPES[path.slice(path.lastIndexOf('.') + 1)] ?? 'application/octet-stream',
    html: path.endsWith('.html'),
    // Names under /assets contain a hash of their content, and files under /vendor are requested with one, so they can be
    // cached forever; the others cannot.
    cacheControl: /^\/(assets|vendor)\//.test(path) ? 'public, max-age=31536000, immutable' : 'no-cache',
    bodies,
  }
}

function answerFile(file: StoredFile, request: Request, { status, headers: more }: typeof PLAIN): Response {
  const offered = ENCODINGS.filter((one) => file.bodies.has(one))
  const encoding = acceptedEncoding(request.headers.get('accept-encoding'), offered) ?? 'identity'
  const body = file.bodies.get(encoding)
  if (body === undefined) throw new Error('every stored file has its plain bytes')
  const etag = body.etag()
  const headers = new Headers({
    'cache-control': file.cacheControl,
    etag,
    vary: 'accept-encoding',
    'x-content-type-options': 'nosniff',
    ...(file.html ? PAGE_HEADERS : {}),
    ...more,
  })
  if (status === 200 && isKnown(etag, request.headers.get('if-none-match')))
    return new Response(null, { status: 304, headers })

  headers.set('content-type', file.type)
  headers.set('content-length', String(body.bytes.byteLength))
  if (encoding !== 'identity') headers.set('content-encoding', encoding)
  return new Response(request.method === 'HEAD' ? null : body.bytes, { status, headers })
}

/** The requested path, or null if its method or encoding rules a file out. */
function readPath(request: Request): string | null {
  if (request.method !== 'GET' && request.method !== 'HEAD') return null
  try {
    return decodeURIComponent(new URL(request.url).pathname)
  } catch {
    return null
  }
}

function isPage(path: string): boolean {
  const lastSegment = path.slice(path.lastIndexOf('/') + 1)
  return !NOT_PAGES.test(path) && !lastSegment.includes('.')
}

/**
 * Browsers name `text/html` when they open a page. A program that mistyped a path gets no page with status 200; what watches whether
 * the gateway is there asks for pages that are known.
 */
function wantsPage(request: Request, path: string): boolean {
  return (
    path === '/' || AUTH_PAGES.has(path) || request.headers.get('accept')?.toLowerCase().includes('text/html') === true
  )
}

function isKnown(etag: string, ifNoneMatch: string | null): boolean {
  const known = (ifNoneMatch ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  return known.includes(etag) || known.includes('*')
}

const NOT_BUILT = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Dashboard not built</title>
<body>
<h1>The dashboard has not been built</h1>
<p>The API works without it. Start the gateway with <code>bun run up</code>, which builds the dashboard first.</p>
</body>
</html>
`

function answerNotBuilt(request: Request): Response | null {
  if (readPath(request) !== '/') return null
  return new Response(request.method === 'HEAD' ? null : NOT_BUILT, {
    status: 503,
    headers: {
      ...PAGE_HEADERS,
      'cache-control': 'no-store',
      'content-type': 'text/html; charset=utf-8',
      'x-content-type-options': 'nosniff',
    },
  })
}
