import { expect, test } from 'bun:test'
import { isPrivateConnection, primaryAddress } from '../../../server/adapters/workers/primary-address'

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
