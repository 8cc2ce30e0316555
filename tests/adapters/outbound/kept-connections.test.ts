import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type TLSSocket } from 'node:tls'
import { generate } from 'selfsigned'
import { AddressBook } from '../../../server/adapters/outbound/address-book'
import { openGuardedFetch } from '../../../server/adapters/outbound/guarded-fetch'
import type { OutboundRequest } from '../../../server/core/outbound/outbound-fetch'

const HOME = '127.0.0.1'
/** Listens like the others, and is allowed to no caller. */
const CANARY = '127.0.0.2'
const LIMITS = { timeoutMs: 5_000, maxBytes: 1024 }

/** The received requests, by connection: `1 GET site.test`. */
let seen: string[]
/** Connections that end without an answer at their second request, as a server ends idle ones. */
let endsIdle: boolean
let connections: number
let canaryCalls: number
let addresses: Record<string, readonly string[]>
let lookUps: string[]
let now: number

function serve(socket: Socket | TLSSocket): void {
  const id = ++connections
  let text = ''
  let answered = 0
  socket.on('error', () => undefined) // the other side hung up
  socket.on('data', (data) => {
    text += data
    const [, method, length] = /^(\w+) [\s\S]*?(?:content-length: (\d+)[\s\S]*?)?\r\n\r\n/i.exec(text) ?? []
    if (method === undefined || !text.endsWith('x'.repeat(Number(length ?? 0)))) return
    seen.push(`${id} ${method} ${/host: ([^:\r]+)/i.exec(text)?.[1]}`)
    text = ''
    if (endsIdle && answered > 0) return socket.destroy()
    answered++
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
  })
}

async function listening(server: Server, host = HOME, port = 0): Promise<number> {
  await new Promise<void>((resolve) => server.listen(port, host, resolve))
  return (server.address() as AddressInfo).port
}

async function pairOf(name: string) {
  const altNames = [{ type: 2 as const, value: name }]
  const { private: key, cert } = await generate([{ name: 'commonName', value: name }], {
    extensions: [{ name: 'subjectAltName', altNames }],
  })
  return { key, cert }
}

describe('connections that are kept open', () => {
  const servers: Server[] = []
  let port: number
  let securePort: number
  let ca: string
  let fetch: ReturnType<typeof openGuardedFetch>

  beforeAll(async () => {
    const plain = createServer(serve)
    const pair = await pairOf('site.test')
    const secure = createTlsServer(pair, serve)
    const canary = createServer(() => canaryCalls++)
    servers.push(plain, secure, canary)
    ca = pair.cert
    port = await listening(plain)
    securePort = await listening(secure)
    await listening(canary, CANARY, port)
  })
  afterAll(() => {
    for (const server of servers) server.close()
  })
  beforeEach(() => {
    ;[seen, endsIdle, connections, canaryCalls, lookUps, now] = [[], false, 0, 0, [], 1_000_000]
    addresses = {}
    fetch = openGuardedFetch({
      userAgent: 'test',
      ca,
      permits: (address) => address === HOME,
      async resolver(host) {
        lookUps.push(host)
        return addresses[host] ?? [HOME]
      },
      addressBook: new AddressBook({ now: () => now }),
    })
  })

  const call = async (url: string, more: Partial<OutboundRequest> = {}) => {
    const answer = await fetch({ ...LIMITS, url, ...more })
    return answer.ok ? answer.value.status : answer.error.kind
  }
  const at = (host: string) => `http://${host}:${port}/`

  test('serve the reads of one name, and never those of another name at the same address', async () => {
    for (const host of ['one.test', 'one.test', 'two.test', 'one.test', 'two.test'])
      expect(await call(at(host))).toBe(200)
    expect(seen).toEqual(['1 GET one.test', '1 GET one.test', '2 GET two.test', '1 GET one.test', '2 GET two.test'])
    expect(lookUps).toEqual(['one.test', 'two.test'])
  })

  test('are not shared with a name that the certificate is not for', async () => {
    expect(await call(`https://site.test:${securePort}/`)).toBe(200)
    expect(await call(`https://site.test:${securePort}/`)).toBe(200)
    expect(await call(`https://other.test:${securePort}/`)).toBe('unreachable')
    expect(seen).toEqual(['1 GET site.test', '1 GET site.test'])
  })

  test('lead to the address that was checked, also when the name turns to another one', async () => {
    expect(await call(at('turning.test'))).toBe(200)
    addresses['turning.test'] = [CANARY]
    now += 29_999
    expect(await call(at('turning.test'))).toBe(200)
    now += 1
    expect(await call(at('turning.test'))).toBe('forbidden_address')
    expect(await call(at('turning.test'))).toBe('forbidden_address')
    addresses['turning.test'] = [HOME]
    expect(await call(at('turning.test'))).toBe(200)
    expect(canaryCalls).toBe(0)
    expect(lookUps).toHaveLength(4)
  })

  test('are looked up again once nothing answers at the address', async () => {
    const gone = createServer()
    const gonePort = await listening(gone)
    await new Promise((resolve) => gone.close(resolve))
    expect(await call(`http://moving.test:${gonePort}/`)).toBe('unreachable')
    expect(await call(`http://moving.test:${gonePort}/`)).toBe('unreachable')
    expect(lookUps).toEqual(['moving.test', 'moving.test'])
  })

  test('share a look-up among the calls that wait for it, and do not remember that it failed', async () => {
    addresses['nowhere.test'] = []
    expect(await Promise.all([call(at('both.test')), call(at('both.test'))])).toEqual([200, 200])
    expect(await call(at('nowhere.test'))).toBe('unreachable')
    addresses['nowhere.test'] = [HOME]
    expect(await call(at('nowhere.test'))).toBe(200)
    expect(lookUps).toEqual(['both.test', 'nowhere.test', 'nowhere.test'])
  })

  test('have a read sent again when they closed while idle', async () => {
    endsIdle = true
    expect([await call(at('idle.test')), await call(at('idle.test'))]).toEqual([200, 200])
    expect(seen).toEqual(['1 GET idle.test', '1 GET idle.test', '2 GET idle.test'])
  })

  test('are not used by writes, which arrive once, also with the method GET', async () => {
    endsIdle = true
    expect(await call(at('write.test'))).toBe(200)
    for (const write of [{ method: 'POST', body: 'x' }, { isWrite: true }, { method: 'DELETE' }] as const)
      expect(await call(at('write.test'), write)).toBe(200)
    expect(seen).toEqual(['1 GET write.test', '2 POST write.test', '3 GET write.test', '4 DELETE write.test'])
  })

  test('of a host with several addresses: a write whose connection breaks is not sent to the next one', async () => {
    addresses['two.test'] = [HOME, HOME]
    const broken = createServer((socket) =>
      socket.on('data', () => {
        connections++
        socket.destroy()
      }),
    )
    servers.push(broken)
    const brokenPort = await listening(broken)
    expect(await call(`http://two.test:${brokenPort}/`, { isWrite: true })).toBe('unreachable')
    expect(connections).toBe(1)
    expect(await call(`http://two.test:${brokenPort}/`)).toBe('unreachable')
    expect(connections).toBe(3)
  })
})
