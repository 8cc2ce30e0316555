import { expect, test } from 'bun:test'
import { connectTo } from '../../../server/adapters/workers/primary-address'
import { LOCALHOST_CERTIFICATE } from '../../support/servers/localhost-certificate'

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
