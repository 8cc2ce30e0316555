import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { type Harness, openHarness } from '../support/harness'

let gateway: Harness
beforeAll(async () => {
  gateway = await openHarness()
})
afterAll(() => gateway.close())

const get = (path: string, headers: Record<string, string> = {}) =>
  gateway.gateway.fetch(new Request(`http://localhost${path}`, { headers }))

describe('the OpenAPI document', () => {
  test('is compressed, under 150 KB, and the same document in every encoding', async () => {
    const plain = await (await get('/openapi.json')).text()
    const br = await get('/openapi.json', { 'accept-encoding': 'gzip, br' })
    expect(br.headers.get('content-encoding')).toBe('br')
    expect(br.headers.get('vary')).toContain('accept-encoding')
    const bytes = Buffer.from(await br.arrayBuffer())
    expect(bytes.byteLength).toBeLessThan(150_000)
    expect(brotliDecompressSync(bytes).toString()).toBe(plain)
    const zstd = await get('/openapi.json', { 'accept-encoding': 'gzip, zstd' })
    expect(zstd.headers.get('content-encoding')).toBe('zstd')
    const packed = Buffer.from(await zstd.arrayBuffer())
    expect(packed.byteLength).toBeLessThan(150_000)
    expect(zstdDecompressSync(packed).toString()).toBe(plain)
    const gz = await get('/openapi.json', { 'accept-encoding': 'gzip, br;q=0' })
    const zipped = Buffer.from(await gz.arrayBuffer())
    expect(zipped.byteLength).toBeLessThan(150_000)
    expect(gunzipSync(zipped).toString()).toBe(plain)
  })

  test('answers 304 to a client that has the current version', async () => {
    const etag = (await get('/openapi.json')).headers.get('etag') ?? ''
    const again = await get('/openapi.json', { 'if-none-match': etag, 'accept-encoding': 'br' })
    expect([again.status, await again.text()]).toEqual([304, ''])
    expect((await get('/openapi.json', { 'if-none-match': '"other"' })).status).toBe(200)
  })
})

describe('the owner’s lists', () => {
  test('are compressed above 1 KB; short ones and responses to POST are not', async () => {
    const owner = await gateway.owner()
    const made = await owner.api('/api/keys', { name: 'first' })
    expect(made.headers.get('content-encoding')).toBeNull()
    for (let i = 0; i < 4; i++) await owner.api('/api/keys', { name: `key ${i}` })
    const headers = { cookie: owner.cookie, 'accept-encoding': 'gzip' }
    const list = await get('/api/keys', headers)
    expect(list.headers.get('content-encoding')).toBe('gzip')
    expect(JSON.parse(gunzipSync(Buffer.from(await list.arrayBuffer())).toString()).keys).toHaveLength(5)
    expect((await get('/api/balance', headers)).headers.get('content-encoding')).toBeNull()
  })
})

test('a paid response is never compressed', async () => {
  const key = await gateway.key(await gateway.account(1))
  gateway.images.answer = async () => ({ ok: true, value: { body: JSON.stringify({ a: 'x'.repeat(5000) }) } })
  const answer = await get('/apis/v1/websearch/images/search?q=x', {
    authorization: `Bearer ${key.secret}`,
    'accept-encoding': 'gzip',
  })
  expect([answer.status, answer.headers.get('content-encoding')]).toEqual([200, null])
})
