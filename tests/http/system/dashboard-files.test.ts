import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  brotliCompressSync,
  brotliDecompressSync,
  gunzipSync,
  gzipSync,
  zstdCompressSync,
  zstdDecompressSync,
} from 'node:zlib'
import { type DashboardFiles, loadDashboard, PAGES } from '../../../server/http/system/dashboard-files.ts'

const PAGE = '<!doctype html><title>A page</title>'
const FRAMED = '<!doctype html><title>Dashboard</title><div id="root"><nav></nav></div>'
const SCRIPT = 'console.log("a script")'
const CSP =
  "default-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'self'; form-action 'self'"

let root: string
let dashboard: DashboardFiles
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'dashboard-files-'))
  const dist = join(root, 'dist')
  await mkdir(join(dist, 'assets'), { recursive: true })
  await writeFile(join(root, 'secret.txt'), 'outside')
  await writeFile(join(dist, 'index.html'), PAGE)
  await writeFile(join(dist, 'app.html'), FRAMED)
  await mkdir(join(dist, '.vite'))
  const manifest = {
    'index.html': { file: 'assets/main-a1b2.js', imports: ['_shared.js'] },
    '_shared.js': { file: 'assets/shared.js' },
    '_table.js': { file: 'assets/table.js' },
    'src/pages/overview.tsx': { file: 'assets/overview.js', imports: ['_shared.js'] },
    'src/pages/keys.tsx': { file: 'assets/keys.js', imports: ['_shared.js', '_table.js'] },
    'src/pages/key.tsx': { file: 'assets/key.js', imports: ['index.html'] },
    'src/shell/bell.tsx': { file: 'assets/bell.js' },
  }
  await writeFile(join(dist, '.vite/manifest.json'), JSON.stringify(manifest))
  await writeFile(join(dist, 'favicon.svg'), '<svg/>')
  await writeFile(join(dist, 'assets/main-a1b2.js'), SCRIPT)
  await writeFile(join(dist, 'assets/main-a1b2.js.br'), brotliCompressSync(SCRIPT))
  await writeFile(join(dist, 'assets/main-a1b2.js.zst'), zstdCompressSync(SCRIPT))
  await writeFile(join(dist, 'assets/main-a1b2.js.gz'), gzipSync(SCRIPT))
  dashboard = await loadDashboard(dist)
})
afterAll(() => rm(root, { recursive: true, force: true }))

test('a page that is known is served whatever a program accepts; another only to what asks for HTML', () => {
  const status = (path: string) => get(path, { accept: '*/*' })?.status
  expect(['/', '/sign-in', '/keys'].map(status)).toEqual([200, 200, undefined])
})

function get(path: string, headers: Record<string, string> = {}, method = 'GET'): Response | null {
  return dashboard.answer(
    new Request(`http://localhost${path}`, { method, headers: { accept: 'text/html', ...headers } }),
  )
}

function answered(response: Response | null): Response {
  if (response === null) throw new Error('the dashboard left the request to the API')
  return response
}

describe('a page', () => {
  test.each(['/', '/index.html', '/keys', '/keys/key_1', '/keys/', '/?tab=1'])('answers at %s', async (path) => {
    const response = answered(get(path))
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(await response.text()).toBe(PAGE)
  })

  test('that is none of the router, is the same with 404 and is not kept', async () => {
    const response = answered(get('/apistore'))
    expect([response.status, await response.text(), response.headers.get('cache-control')]).toEqual([
      404,
      PAGE,
      'no-store',
    ])
    const routes = (await Bun.file(join(import.meta.dir, '../../../dashboard/src/router.tsx')).text()).matchAll(
      /(?:[pP]age\(|path: )'(\/[^']*)'/g,
    )
    expect([...new Set([...routes].map(([, path]) => path ?? ''))].sort()).toEqual([...PAGES].sort())
  })

  test('has the name that the operator gave the service', async () => {
    const built = join(root, 'built')
    await mkdir(built)
    await writeFile(join(built, 'index.html'), '<head><title>Gateway</title></head>')
    const branded = await loadDashboard(built, "Acme $& $' Sons")
    const page = await branded
      .answer(new Request('http://localhost/keys', { headers: { accept: 'text/html' } }))
      ?.text()
    expect(page).toContain('<title>Acme $&amp; $&#x27; Sons</title>')
    expect(page).toContain('<meta name="service" content="Acme $&amp; $&#x27; Sons" />')
  })

  test('carries the security headers', () => {
    const { headers } = answered(get('/keys'))
    expect(headers.get('content-security-policy')).toBe(CSP)
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('x-frame-options')).toBe('DENY')
    expect(headers.get('referrer-policy')).toBe('strict-origin-when-cross-origin')
  })

  test.each([
    ['/', ['overview', 'bell']],
    ['/keys', ['keys', 'table', 'bell']],
    ['/keys/key_1', ['key', 'bell']],
  ])('names what %s needs next, for a browser with a session', (path, files) => {
    const link = answered(get(path, { cookie: 'session=x' })).headers.get('link') ?? ''
    const [account, ...scripts] = link.split(', ')
    expect(account).toBe('</api/account>; rel=preload; as=fetch; crossorigin=anonymous')
    expect(scripts).toEqual(
      files.map((file) => `</assets/${file}.js>; rel=modulepreload; crossorigin; fetchpriority=low`),
    )
  })

  test('has the frame of the pages for a browser with a session, and only on a page inside it', async () => {
    const cookie = { cookie: 'session=x' }
    for (const path of ['/', '/keys', '/keys/key_1']) expect(await answered(get(path, cookie)).text()).toBe(FRAMED)
    for (const path of ['/sign-in', '/no-such-page']) expect(await answered(get(path, cookie)).text()).toBe(PAGE)
    expect(await answered(get('/keys')).text()).toBe(PAGE)
    // A browser that has just signed in does not keep the page that it had before.
    const before = answered(get('/keys')).headers.get('etag') ?? ''
    expect(answered(get('/keys', { ...cookie, 'if-none-match': before })).status).toBe(200)
  })

  test('names nothing for a path without a page of its own, or without a session', () => {
    for (const path of ['/no-such-page', '/keys/a/b', '/constructor', '/sign-in', '/assets/main-a1b2.js'])
      expect(get(path, { cookie: 'session=x' })?.headers.get('link') ?? null).toBeNull()
    expect(answered(get('/keys')).headers.get('link')).toBeNull()
  })

  test('is revalidated each time, with 304 while it is unchanged', () => {
    const first = answered(get('/'))
    expect(first.headers.get('cache-control')).toBe('no-cache')
    const etag = first.headers.get('etag') ?? ''
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const again = answered(get('/', { 'if-none-match': known }))
      expect(again.status).toBe(304)
      expect(again.headers.get('etag')).toBe(etag)
      expect(again.body).toBeNull()
    }
    expect(answered(get('/', { 'if-none-match': '"other"' })).status).toBe(200)
  })

  test('answers HEAD with the headers of GET and no body', () => {
    const response = answered(get('/', {}, 'HEAD'))
    expect(response.status).toBe(200)
    expect(response.headers.get('content-length')).toBe(String(PAGE.length))
    expect(response.body).toBeNull()
  })
})

describe('a file', () => {
  test('under /assets may be cached forever', async () => {
    const response = answered(get('/assets/main-a1b2.js'))
    expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(response.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    expect(await response.text()).toBe(SCRIPT)
  })

  test('elsewhere is revalidated each time', () => {
    expect(answered(get('/favicon.svg')).headers.get('cache-control')).toBe('no-cache')
  })

  test('is sent in the smallest encoding that the client accepts, each with its own ETag', async () => {
    const load = async (accepted: string) => {
      const response = answered(get('/assets/main-a1b2.js', { 'accept-encoding': accepted }))
      expect(response.headers.get('vary')).toBe('accept-encoding')
      const { headers } = response
      return { encoding: headers.get('content-encoding'), etag: headers.get('etag'), body: await response.bytes() }
    }
    const [br, zstd, gzip, plain] = await Promise.all([
      load('gzip, deflate, br, zstd'),
      load('gzip, zstd'),
      load('br;q=0, GZIP;q=0.5'),
      load('deflate'),
    ])
    expect([br.encoding, zstd.encoding, gzip.encoding, plain.encoding]).toEqual(['br', 'zstd', 'gzip', null])
    expect(brotliDecompressSync(br.body).toString()).toBe(SCRIPT)
    expect(zstdDecompressSync(zstd.body).toString()).toBe(SCRIPT)
    expect(gunzipSync(gzip.body).toString()).toBe(SCRIPT)
    expect(Buffer.from(plain.body).toString()).toBe(SCRIPT)
    expect(new Set([br.etag, zstd.etag, gzip.etag, plain.etag]).size).toBe(4)
  })
})

describe('a request that the dashboard does not serve', () => {
  test.each([
    '/api',
    '/api/keys',
    '/apis/v1/nope',
    '/v1/usage',
    '/v1beta/models',
    '/mcp',
    '/docs',
    '/vendor/x',
    '/media/1',
    '/sandbox/x',
    '/health',
    '/ready',
    '/.well-known/x',
    '/openapi.json',
    '/assets/gone',
    '/assets/gone.js',
    '/robots.txt',
    '/keys/report.csv',
    '/assets/main-a1b2.js.br',
    '/assets/main-a1b2.js.zst',
  ])('is %s', (path) => {
    expect(get(path)).toBeNull()
  })

  test.each(['/V1/models', '/MCP', '/Apis/v1', '//v1/models', '///V1Beta/models', '/%56%31/models', '/API/keys'])(
    "is %s, whose caller meant the API's own path",
    (path) => {
      expect(get(path)).toBeNull()
    },
  )

  test('is a page for a caller who does not ask for one; a browser gets it', () => {
    for (const accept of ['application/json', 'application/json, text/plain, */*', '*/*', 'image/png', ''])
      expect(get('/keys', { accept })).toBeNull()
    for (const accept of ['text/html,application/xhtml+xml,application/json;q=0.9,*/*;q=0.8', 'Text/HTML'])
      expect(answered(get('/keys', { accept })).status).toBe(200)
    expect(answered(get('/', { accept: 'application/json' })).status).toBe(200)
  })

  test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('is a %s, also of a page', (method) => {
    expect(get('/', {}, method)).toBeNull()
  })

  test.each(['/%2e%2e/secret.txt', '/..%2fsecret.txt', '/assets/..%2f..%2fsecret.txt', '/%E0%A4%A'])(
    'finds no file for the path traversal %s',
    (path) => {
      expect(get(path)).toBeNull()
    },
  )
})

describe('a dashboard that was not built', () => {
  test('says so at /, uncached, with the command that builds it; other routes work', async () => {
    const missing = await loadDashboard(join(root, 'nothing-here'))
    const response = answered(missing.answer(new Request('http://localhost/')))
    expect(response.status).toBe(503)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('content-security-policy')).toBe(CSP)
    const body = await response.text()
    expect(body).toContain('has not been built')
    expect(body).toContain('bun run up')
    expect(missing.answer(new Request('http://localhost/keys'))).toBeNull()
    expect(missing.answer(new Request('http://localhost/', { method: 'POST' }))).toBeNull()
  })
})
