import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Listening } from '../../server/listen'
import { type Harness, type MadeKey, openHarness } from '../support/harness'
import { listenTo } from '../support/servers/listen-to'
import { CONTEXT, endAndReconcile, IMAGES_CALL } from './wire'

/** Found by the fuzz pass: what the router takes for the path must be what the door took for it, whatever the Host says. */
describe('hosts and targets that fetch would never send (RFC 9112 3.2)', () => {
  let gateway: Harness
  let key: MadeKey
  let web: Listening
  const faults: unknown[] = []

  beforeAll(async () => {
    gateway = await openHarness()
    key = await gateway.key(await gateway.account(), { allowed_ips: ['127.0.0.1'] })
    web = listenTo(gateway.gateway, (error) => faults.push(error))
  })
  afterAll(async () => {
    await web.stop(1000)
    await endAndReconcile(gateway)
    expect(faults).toEqual([])
  })

  async function raw(request: string) {
    const ended = Promise.withResolvers<string>()
    let text = ''
    await Bun.connect({
      hostname: '127.0.0.1',
      port: web.port,
      socket: {
        open: (socket) => void socket.write(request),
        data(_socket, chunk) {
          text += chunk.toString()
        },
        close: () => ended.resolve(text),
        error: (_socket, error) => ended.reject(error),
      },
    })
    const [head = '', body = ''] = (await ended.promise).split('\r\n\r\n')
    const headers = new Headers(
      head
        .split('\r\n')
        .slice(1)
        .map((line): [string, string] => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]),
    )
    return { status: Number(head.split(' ')[1]), headers, body: JSON.parse(body) }
  }
  const get = (target: string, host: string | null, more = '') =>
    raw(
      `GET ${target} HTTP/1.${host === null ? '0' : '1'}\r\n${host === null ? '' : `Host: ${host}\r\nConnection: close\r\n`}Authorization: Bearer ${key.secret}\r\n${more}\r\n`,
    )

  test.each([
    ['two hosts', 'Host: localhost\r\nHost: evil.example'],
    ['the same host twice', 'Host: localhost\r\nhost: localhost'],
    ['an empty host beside one', 'Host: localhost\r\nHost: '],
    ['two hosts in one header', 'Host: localhost, evil.example'],
  ])('%s are refused, on every kind of route', async (_, hosts) => {
    for (const target of [IMAGES_CALL, '/api/account', '/health', '/keys', '/nothing']) {
      const more = `Connection: close\r\nAuthorization: Bearer ${key.secret}\r\n`
      const { status, headers, body } = await raw(`GET ${target} HTTP/1.1\r\n${hosts}\r\n${more}\r\n`)
      expect([target, status, body.error.code]).toEqual([target, 400, 'invalid_request'])
      expect(headers.get('x-content-type-options')).toBe('nosniff')
    }
  })

  test.each(['gw', 'x', 'abc', 'gw:80', 'X'])('a host of fewer than four characters is valid: %s', async (host) => {
    const { status, headers } = await get(IMAGES_CALL, host)
    expect(status).toBe(200)
    expect(headers.get('x-cost-micros-usd')).toBe('5000')
  })

  test.each(['/aa/v1/usage/a.b', '/aa/openapi.json', '/ab/api/usage.csv'])(
    'a short host does not make %s the route behind its first segment',
    async (target) => {
      const { status, body } = await get(target, 'x')
      expect([status, body.error.code]).toEqual([404, 'unknown_endpoint'])
    },
  )

  test('HTTP/1.0 without a Host is served', async () => {
    expect((await get(IMAGES_CALL, null)).status).toBe(200)
    expect((await get('/health', null)).body).toEqual({ status: 'ok' })
    expect((await get('//openapi.json', null)).body.error.code).toBe('unknown_endpoint')
  })

  test('a fragment is not part of the path', async () => {
    expect((await get(`${IMAGES_CALL}#x`, 'localhost')).status).toBe(200)
  })

  test.each(['', '?x', '#x', '/', '/../x'])(
    'no way to write its path leads past the gate of a route: "%s"',
    async (end) => {
      const path = end === '/../x' ? '/api/auth/x/../change-password' : `/api/auth/change-password${end}`
      for (const host of ['localhost', 'gw']) {
        const head = `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\nContent-Type: application/json`
        const { status, body } = await raw(`${head}\r\nContent-Length: 2\r\n\r\n{}`)
        // The library knows no path that ends with a slash.
        expect([status, body.error.code]).toEqual(end === '/' ? [404, 'unknown_endpoint'] : [401, 'missing_session'])
      }
    },
  )

  test('the body is kept', async () => {
    const body = '{"q":"card"}'
    const { status } = await raw(
      `POST ${CONTEXT} HTTP/1.1\r\nHost: gw\r\nConnection: close\r\nAuthorization: Bearer ${key.secret}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    expect(status).toBe(200)
  })

  test.each(['', 'a b', 'x:99999', 'x/y', 'x?y', 'a@b', '[::', '%zz'])(
    'an invalid Host is a 400 with all the usual headers: "%s"',
    async (host) => {
      const { status, headers, body } = await get(IMAGES_CALL, host)
      expect([status, body.error.code]).toEqual([400, 'invalid_request'])
      expect(body.error.request_id).toBe(headers.get('x-gateway-request-id'))
      expect(headers.get('x-ratelimit-limit-requests')).toMatch(/^\d+$/)
      expect((await get('/health', host)).body.error.code).toBe('invalid_request')
    },
  )
})
