import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { generate } from 'selfsigned'
import { type GuardedFetchOptions, openGuardedFetch } from '../../../server/adapters/outbound/guarded-fetch'
import type { OutboundRequest } from '../../../server/core/outbound/outbound-fetch'

type Answering = (request: Request, url: URL) => Response | Promise<Response>

const MIB = 1024 * 1024
const LIMITS = { timeoutMs: 5_000, maxBytes: MIB } as const
const AGENT = 'gateway-test/1.0 (+https://gateway.test)'

/** Names of this test's world. Whatever else is asked for does not exist. */
const HOME = '127.0.0.1'

const bytes = (text: string) => new TextEncoder().encode(text)

/** A body that starts, and then neither goes on nor ends. */
const stalled = () =>
  new ReadableStream({
    start: (controller) => controller.enqueue(bytes('half')),
    pull: () => new Promise(() => undefined),
  })

describe('the guarded fetch', () => {
  let server: Bun.Server<undefined>
  let answer: Answering
  let seen: { host: string | null; path: string; headers: Headers }[]
  let asked: string[]
  let names: Record<string, readonly string[]>

  beforeAll(() => {
    server = Bun.serve({
      port: 0,
      hostname: HOME,
      fetch(request) {
        const url = new URL(request.url)
        seen.push({ host: request.headers.get('host'), path: url.pathname, headers: request.headers })
        return answer(request, url)
      },
    })
  })
  beforeEach(() => {
    answer = () => new Response('hello', { headers: { 'content-type': 'text/plain; charset=utf-8' } })
    seen = []
    asked = []
    names = { 'site.test': [HOME], 'other.test': [HOME] }
  })
  afterAll(() => server.stop(true))

  const open = (options: Partial<GuardedFetchOptions> = {}) =>
    openGuardedFetch({
      userAgent: AGENT,
      permits: (address, port) => address === HOME && port === server.port,
      async resolver(host) {
        asked.push(host)
        const found = names[host]
        if (!found) throw new Error('ENOTFOUND')
        return found
      },
      ...options,
    })
  const at = (path: string, host = 'site.test') => `http://${host}:${server.port}${path}`
  const get = (url: string, more: Partial<OutboundRequest> = {}, options: Partial<GuardedFetchOptions> = {}) =>
    open(options)({ ...LIMITS, url, ...more })
  const problemOf = async (
    url: string,
    more: Partial<OutboundRequest> = {},
    options?: Partial<GuardedFetchOptions>,
  ) => {
    const fetched = await get(url, more, options)
    return fetched.ok ? `answered ${fetched.value.status}` : fetched.error.kind
  }
  const bodyOf = async (url: string, more: Partial<OutboundRequest> = {}) => {
    const fetched = await get(url, more)
    return fetched.ok ? new TextDecoder().decode(fetched.value.body) : fetched.error.kind
  }

  test('returns status, final address, type and body, and identifies itself', async () => {
    const fetched = await get(at('/a?b=c#d'))
    expect(fetched).toMatchObject({
      ok: true,
      value: { url: at('/a?b=c'), status: 200, contentType: 'text/plain' },
    })
    expect(await bodyOf(at('/a'))).toBe('hello')
    expect(seen[0]?.host).toBe(`site.test:${server.port}`)
    expect(seen[0]?.headers.get('user-agent')).toBe(AGENT)
  })

  test('returns an error status with its body', async () => {
    answer = () => new Response('gone', { status: 410 })
    expect(await get(at('/'))).toMatchObject({ ok: true, value: { status: 410, body: bytes('gone') } })
  })

  test('sends a body and headers, and follows redirects only for reads', async () => {
    answer = async (request) =>
      new Response(null, { status: 307, headers: { location: '/next', 'x-got': await request.text() } })
    const fetched = await get(at('/'), { method: 'POST', body: 'paid', headers: { 'x-own': '1' }, maxRedirects: 5 })
    expect(fetched).toMatchObject({ ok: true, value: { status: 307 } })
    expect(fetched.ok && fetched.value.headers.get('x-got')).toBe('paid')
    expect(seen.map(({ headers }) => headers.get('x-own'))).toEqual(['1'])
  })

  describe('an address that is never called', () => {
    test.each([
      ['no scheme of the web', 'ftp://site.test/'],
      ['a file', 'file:///etc/passwd'],
      ['a data address', 'data:text/plain,hi'],
      ['gopher', 'gopher://site.test:70/_x'],
      ['no address', 'site.test'],
      ['a user name', 'http://user@site.test/'],
      ['a user name that looks like the host', 'http://site.test@other.test/'],
      ['mail', 'http://site.test:25/'],
      ['ssh', 'http://site.test:22/'],
      ['irc', 'http://site.test:6667/'],
      ['x11', 'http://site.test:6000/'],
      ['no host', 'http:///'],
      ['too many numbers', 'http://1.2.3.4.5/'],
      ['a zone', 'http://[fe80::1%25eth0]/'],
    ])('%s: %s', async (_, url) => {
      expect(await problemOf(url)).toBe('bad_url')
      expect(asked).toEqual([])
    })
  })

  describe('a connection to an address that is not public is never made', () => {
    test.each([
      'http://127.0.0.1/',
      'http://127.1/',
      'http://2130706433/',
      'http://0x7f000001/',
      'http://0x7f.0.0.1/',
      'http://0177.0.0.1/',
      'http://017700000001/',
      'http://①②⑦.⓪.⓪.①/',
      'http://127.0.0.1./',
      'http://0/',
      'http://[::1]/',
      'http://[::]/',
      'http://[::ffff:127.0.0.1]/',
      'http://[0:0:0:0:0:ffff:7f00:1]/',
      'http://[64:ff9b::127.0.0.1]/',
      'http://[fd00:ec2::254]/',
      'http://169.254.169.254/latest/meta-data/',
      'http://10.0.0.1:8080/',
      'http://100.64.1.1/',
    ])('%s', async (url) => {
      const permits = () => false
      expect(await problemOf(url, {}, { permits })).toBe('forbidden_address')
      expect(asked).toEqual([])
    })

    test.each([
      ['private', ['192.168.0.10']],
      ['loopback', ['127.0.0.1']],
      ['mapped', ['::ffff:10.0.0.1']],
      ['link-local with a zone', ['fe80::1%eth0']],
      ['no address', ['metadata']],
      ['one public and one private', ['8.8.8.8', '10.0.0.1']],
      ['one private after the public ones', ['1.1.1.1', '8.8.8.8', '9.9.9.9', '::1']],
    ])('a name that resolves to %s', async (_, addresses) => {
      names['trick.test'] = addresses
      const fetched = await get('http://trick.test/secret?token=1', {}, { permits: () => false })
      expect(fetched).toMatchObject({ ok: false, error: { kind: 'forbidden_address' } })
      expect(JSON.stringify(fetched)).not.toContain('token')
    })

    test("localhost of the machine's resolver is checked like any other", async () => {
      const local = openGuardedFetch({ userAgent: AGENT })
      const fetched = await local({ ...LIMITS, url: `http://localhost:${server.port}/` })
      expect(fetched).toMatchObject({ ok: false, error: { kind: 'forbidden_address' } })
      expect(seen).toEqual([])
    })

    test('the exception for tests names an address and a port', async () => {
      expect(await problemOf(`http://site.test:${server.port === 8081 ? 8082 : 8081}/`)).toBe('forbidden_address')
      expect(await problemOf(at('/'), {}, { permits: (address) => address === '127.0.0.2' })).toBe('forbidden_address')
    })
  })

  describe('DNS', () => {
    test('is queried once per hop, and the connection goes to the address that was checked, whatever the next query returns', async () => {
      names['turning.test'] = [HOME]
      const turning = async (host: string) => {
        asked.push(host)
        const now = names[host] ?? []
        names[host] = ['10.0.0.1']
        return now
      }
      const fetched = await get(at('/', 'turning.test'), {}, { resolver: turning })
      expect(fetched).toMatchObject({ ok: true, value: { status: 200 } })
      expect(asked).toEqual(['turning.test'])
      expect(seen[0]?.host).toBe(`turning.test:${server.port}`)
    })

    test('is queried again for a second hop to the same name', async () => {
      answer = (_, url) => (url.pathname === '/' ? Response.redirect(at('/next'), 302) : new Response('inside'))
      let times = 0
      const resolver = async () => (++times === 1 ? [HOME] : ['192.168.0.1'])
      expect(await problemOf(at('/'), { maxRedirects: 3 }, { resolver })).toBe('forbidden_address')
      expect(seen.map(({ path }) => path)).toEqual(['/'])
    })

    test('a name that does not exist, or has no address, is unreachable', async () => {
      names['empty.test'] = []
      expect(await problemOf('http://nowhere.test/')).toBe('unreachable')
      expect(await problemOf('http://empty.test/')).toBe('unreachable')
    })

    test('a query that is never answered ends at the deadline', async () => {
      const resolver = () => new Promise<readonly string[]>(() => undefined)
      expect(await problemOf(at('/'), { timeoutMs: 20 }, { resolver })).toBe('timeout')
    })

    test('if an address cannot be reached, the next one is tried, for reads only', async () => {
      names['two.test'] = ['127.0.0.9', HOME]
      const permits = () => true
      expect(await problemOf(at('/', 'two.test'), {}, { permits })).toBe('answered 200')
      expect(await problemOf(at('/', 'two.test'), { method: 'POST', body: 'x' }, { permits })).toBe('unreachable')
    })
  })

  describe('redirects', () => {
    test('are returned if none may be followed', async () => {
      answer = () => Response.redirect('http://10.0.0.1/', 301)
      expect(await problemOf(at('/'))).toBe('answered 301')
    })

    test.each([301, 302, 303, 307, 308])('a %d is followed, with a relative address too', async (status) => {
      answer = (_, url) =>
        url.pathname === '/a/b' ? new Response(null, { status, headers: { location: '../c' } }) : new Response('c')
      const fetched = await get(at('/a/b'), { maxRedirects: 1 })
      expect(fetched).toMatchObject({ ok: true, value: { url: at('/c'), status: 200 } })
    })

    test.each([
      ['to loopback', 'http://127.0.0.1/', 'forbidden_address'],
      ['to the metadata host', 'http://169.254.169.254/', 'forbidden_address'],
      ['to a private name', 'http://inside.test/', 'forbidden_address'],
      ['to IPv6 loopback', 'http://[::1]/', 'forbidden_address'],
      ['to a decimal number', 'http://2852039166/', 'forbidden_address'],
      ['to a file', 'file:///etc/passwd', 'bad_url'],
      ['to another port of mail', 'http://site.test:25/', 'bad_url'],
      ['with a password', 'http://a:b@site.test/', 'bad_url'],
    ])('%s is refused', async (_, location, kind) => {
      names['inside.test'] = ['10.1.2.3']
      answer = () => new Response(null, { status: 302, headers: { location } })
      expect(await problemOf(at('/'), { maxRedirects: 5 })).toBe(kind)
      expect(seen).toHaveLength(1)
    })

    test('that loop end at the limit', async () => {
      answer = (_, url) => Response.redirect(at(url.pathname === '/a' ? '/b' : '/a'), 302)
      expect(await problemOf(at('/a'), { maxRedirects: 4 })).toBe('too_many_redirects')
      expect(seen).toHaveLength(5)
    })

    test("carry our headers to another origin, and not the caller's", async () => {
      answer = (request, url) =>
        url.pathname === '/' ? Response.redirect(at('/next', 'other.test'), 302) : new Response(request.method)
      await get(at('/'), { maxRedirects: 1, headers: { authorization: 'Bearer secret', 'user-agent': 'liar' } })
      expect(seen.map(({ headers }) => headers.get('authorization'))).toEqual(['Bearer secret', null])
      expect(seen.map(({ headers }) => headers.get('user-agent'))).toEqual([AGENT, AGENT])
    })

    test('are followed without waiting for their body', async () => {
      answer = (_, url) =>
        url.pathname === '/'
          ? new Response(stalled(), { status: 302, headers: { location: '/next' } })
          : new Response('there')
      expect(await bodyOf(at('/'), { maxRedirects: 1 })).toBe('there')
    })

    test('are each checked by `mayVisit`', async () => {
      answer = (_, url) => (url.pathname === '/' ? Response.redirect(at('/private'), 302) : new Response('x'))
      const visited: string[] = []
      const mayVisit = async (url: URL) => visited.push(url.pathname) < 2
      expect(await problemOf(at('/'), { maxRedirects: 3, mayVisit })).toBe('not_allowed')
      expect(visited).toEqual(['/', '/private'])
      expect(seen.map(({ path }) => path)).toEqual(['/'])
    })
  })

  describe('limits', () => {
    test('headers that never arrive are a timeout', async () => {
      answer = () => new Promise(() => undefined)
      expect(await problemOf(at('/'), { timeoutMs: 50 })).toBe('timeout')
    })

    test('a body that stops arriving is a timeout', async () => {
      answer = () => new Response(stalled())
      expect(await problemOf(at('/'), { timeoutMs: 50 })).toBe('timeout')
    })

    test('a body that drips without end is a timeout: the deadline covers the whole call', async () => {
      answer = () =>
        new Response(
          new ReadableStream({
            async pull(controller) {
              await new Promise((resolve) => setTimeout(resolve, 5))
              controller.enqueue(new Uint8Array([97]))
            },
          }),
        )
      expect(await problemOf(at('/'), { timeoutMs: 100 })).toBe('timeout')
    })

    test('redirects share one deadline', async () => {
      answer = async (_, url) => {
        await new Promise((resolve) => setTimeout(resolve, 30))
        return Response.redirect(at(`${url.pathname}x`), 302)
      }
      expect(await problemOf(at('/'), { timeoutMs: 100, maxRedirects: 20 })).toBe('timeout')
    })

    test('the caller can abort', async () => {
      answer = () => new Promise(() => undefined)
      const abort = new AbortController()
      const waiting = problemOf(at('/'), { signal: abort.signal })
      abort.abort()
      expect(await waiting).toBe('aborted')
      expect(await problemOf(at('/'), { signal: AbortSignal.abort() })).toBe('aborted')
    })

    test('a body of exactly the limit passes; one more byte does not, declared or not', async () => {
      answer = (_, url) => new Response('x'.repeat(Number(url.pathname.slice(1))))
      expect((await bodyOf(at('/1000'), { maxBytes: 1000 })).length).toBe(1000)
      expect(await problemOf(at('/1001'), { maxBytes: 1000 })).toBe('too_large')
      answer = (_, url) => {
        const text = bytes('x'.repeat(Number(url.pathname.slice(1))))
        return new Response(
          new ReadableStream({
            start(controller) {
              controller.enqueue(text)
              controller.close()
            },
          }),
        )
      }
      expect((await bodyOf(at('/1000'), { maxBytes: 1000 })).length).toBe(1000)
      expect(await problemOf(at('/1001'), { maxBytes: 1000 })).toBe('too_large')
    })

    test('a body without end is cut off at the limit', async () => {
      let sent = 0
      answer = () =>
        new Response(
          new ReadableStream({
            pull(controller) {
              sent += 65536
              controller.enqueue(new Uint8Array(65536))
            },
          }),
        )
      expect(await problemOf(at('/'), { maxBytes: MIB })).toBe('too_large')
      expect(sent).toBeLessThan(64 * MIB)
    })

    test('gzip is decompressed', async () => {
      answer = () => new Response(gzipSync('packed'), { headers: { 'content-encoding': 'GZIP' } })
      expect(await bodyOf(at('/'))).toBe('packed')
      expect(seen[0]?.headers.get('accept-encoding')).toBe('gzip')
    })

    test('a gzip bomb is cut off at the limit', async () => {
      const bomb = gzipSync(Buffer.alloc(256 * MIB))
      expect(bomb.byteLength).toBeLessThan(MIB)
      answer = () => new Response(bomb, { headers: { 'content-encoding': 'gzip' } })
      const before = process.memoryUsage().rss
      expect(await problemOf(at('/'))).toBe('too_large')
      expect(process.memoryUsage().rss - before).toBeLessThan(100 * MIB)
    })

    test.each([
      ['gzip cut in the middle', 'gzip', gzipSync('x'.repeat(10_000)).subarray(0, 30)],
      ['what is no gzip', 'gzip', Buffer.from('plain')],
      ['brotli, which was not asked for', 'br', brotliCompressSync('x')],
      ['gzip in gzip', 'gzip, gzip', gzipSync(gzipSync('x'))],
    ])('%s is refused', async (_, encoding, body) => {
      answer = () => new Response(new Uint8Array(body), { headers: { 'content-encoding': encoding } })
      expect(await problemOf(at('/'))).toBe('bad_encoding')
    })

    test('types outside the list are refused without reading the body, except for errors', async () => {
      const contentTypes = ['text/*', 'application/json']
      const typed = (type: string | null, status = 200) => {
        answer = () => {
          const response = new Response(stalled(), { status })
          if (type === null) response.headers.delete('content-type')
          else response.headers.set('content-type', type)
          return response
        }
        return problemOf(at('/'), { contentTypes, timeoutMs: 200 })
      }
      expect(await typed('image/png')).toBe('wrong_type')
      expect(await typed('application/jsonp')).toBe('wrong_type')
      expect(await typed('textual/html')).toBe('wrong_type')
      expect(await typed(null)).toBe('wrong_type')
      answer = () => new Response('{}', { headers: { 'content-type': 'Application/JSON; charset=utf-8' } })
      expect(await problemOf(at('/'), { contentTypes })).toBe('answered 200')
      answer = () => new Response('no', { status: 404, headers: { 'content-type': 'image/png' } })
      expect(await problemOf(at('/'), { contentTypes })).toBe('answered 404')
    })
  })

  describe('a connection failure', () => {
    test.each([
      ['closes at once', '', 'unreachable'],
      ['speaks no HTTP', 'SSH-2.0-OpenSSH_9.6\r\n', 'unreachable'],
      ['closes within the body', 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf', 'cut'],
      ['closes within a chunked body', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n', 'cut'],
    ])('%s', async (_, bytes, kind) => {
      const raw = Bun.listen({
        port: 0,
        hostname: HOME,
        socket: {
          data(socket) {
            socket.end(bytes)
          },
        },
      })
      const permits = () => true
      expect(await problemOf(`http://site.test:${raw.port}/`, {}, { permits })).toBe(kind)
      raw.stop(true)
    })

    test('no server is listening', async () => {
      const gone = Bun.serve({ port: 0, hostname: HOME, fetch: () => new Response() })
      const { port } = gone
      gone.stop(true)
      expect(await problemOf(`http://site.test:${port}/`, {}, { permits: () => true })).toBe('unreachable')
    })
  })

  describe('TLS', () => {
    let secure: Bun.Server<undefined>
    let ca: string
    const permits = () => true

    beforeAll(async () => {
      const made = await generate([{ name: 'commonName', value: 'site.test' }], {
        extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: 'site.test' }] }],
      })
      ca = made.cert
      const tls = { key: made.private, cert: made.cert }
      secure = Bun.serve({ port: 0, hostname: HOME, tls, fetch: ({ headers }) => new Response(headers.get('host')) })
    })
    afterAll(() => secure.stop(true))

    test('the certificate is checked against the name, although the connection goes to an IP address', async () => {
      const right = await get(`https://site.test:${secure.port}/`, {}, { permits, ca })
      expect(right).toMatchObject({ ok: true, value: { body: bytes(`site.test:${secure.port}`) } })
      expect(await problemOf(`https://other.test:${secure.port}/`, {}, { permits, ca })).toBe('unreachable')
      expect(await problemOf(`https://127.0.0.1:${secure.port}/`, {}, { permits, ca })).toBe('unreachable')
    })

    test('an untrusted certificate is refused', async () => {
      expect(await problemOf(`https://site.test:${secure.port}/`, {}, { permits })).toBe('unreachable')
    })
  })
})
