import { expect, test } from 'bun:test'
import { connectTo, isPrivateConnection, primaryAddress } from '../../../server/adapters/workers/primary-address'
import { LOCALHOST_CERTIFICATE } from '../../support/servers/localhost-certificate'

test('a primary on another machine is reached with TLS, one on this machine also without', () => {
  for (const [text, address] of [
    ['unix:/var/lib/gateway/workers.sock', { unix: '/var/lib/gateway/workers.sock' }],
    ['https://gateway.example', { hostname: 'gateway.example', port: 443, tls: true }],
    ['https://10.0.0.1:7000', { hostname: '10.0.0.1', port: 7000, tls: true }],
    ['http://127.0.0.1:7000', { hostname: '127.0.0.1', port: 7000, tls: false }],
    ['http://[::1]:7000', { hostname: '::1', port: 7000, tls: false }],
    ['http://localhost:7000', { hostname: 'localhost', port: 7000, tls: false }],
  ] as const)
    expect(primaryAddress(text)).toEqual({ ok: true, value: address })
})

test('everything else is refused with a sentence', () => {
  for (const text of [
    ...['http://10.0.0.1:7000', 'http://gateway.example', 'http://127.0.0.1.example', 'http://0.0.0.0:7000'],
    ...['https://a/path', 'https://a?x', 'https://user:secret@a', 'ws://a', 'unix:relative', '', 'a b'],
  ]) {
    const read = primaryAddress(text)
    expect([text, read.ok]).toEqual([text, false])
    if (!read.ok) {
      expect(read.error).toEndWith('.')
      expect(read.error).not.toContain('secret')
    }
  }
})

test('a primary speaks over TCP only with TLS, or to a worker on its own machine', () => {
  for (const [tls, remoteAddress, is] of [
    [true, '203.0.113.7', true],
    [false, '127.0.0.1', true],
    [false, '::1', true],
    [false, '::ffff:127.0.0.1', true],
    [false, '10.0.0.1', false],
    [false, '::ffff:10.0.0.1', false],
    [false, '', false],
  ] as const)
    expect([remoteAddress, isPrivateConnection({ tls, remoteAddress })]).toEqual([remoteAddress, is])
})

test('no plain text goes to an address with TLS, whatever its server speaks', async () => {
  const received: Buffer[] = []
  const events: string[] = []
  const ready = Promise.withResolvers<void>()
  const server = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data(socket, chunk) {
        received.push(chunk)
        socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')
      },
    },
  })
  const address = { hostname: '127.0.0.1', port: server.port, tls: true }
  await connectTo(address, null, {
    open: (socket) => void socket.write('plain text'),
    handshake: (_socket, isProved) => void events.push(`proved: ${isProved}`),
    data: (_socket, chunk) => void events.push(`data: ${chunk}`),
    close: () => ready.resolve(),
    connectError: () => ready.resolve(),
  })
  await ready.promise
  server.stop(true)
  expect(Buffer.concat(received)[0]).toBe(0x16)
  expect(Buffer.concat(received).includes('plain text')).toBe(false)
  expect(events).not.toContain('proved: true')
  expect(events.filter((one) => one.startsWith('data'))).toEqual([])
})

test('a primary proves itself by a trusted certificate of its name', async () => {
  const socket = { data: () => undefined }
  const server = Bun.listen({ hostname: '127.0.0.1', port: 0, socket, tls: LOCALHOST_CERTIFICATE })
  const isProved = async (hostname: string, ca: string | null) => {
    const proved = Promise.withResolvers<boolean>()
    const connection = await connectTo({ hostname, port: server.port, tls: true }, ca, {
      ...socket,
      handshake: (_socket, is) => proved.resolve(is),
    })
    const is = await proved.promise
    connection.terminate()
    return is
  }
  const { cert } = LOCALHOST_CERTIFICATE
  expect(await isProved('localhost', cert)).toBe(true)
  expect(await isProved('127.0.0.1', cert)).toBe(true)
  expect(await isProved('127.1', cert)).toBe(false)
  expect(await isProved('localhost', null)).toBe(false)
  server.stop(true)
})
