import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { openGuardedFetch } from '../../../server/adapters/outbound/guarded-fetch'
import { type Harness, openHarness } from '../../support/harness'
import { until } from '../../support/until'
import { closeReconciled, type Owner, refusalOf } from '../owner-bench'

const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

let gateway: Harness
let owner: Owner
let asked: string[]
let hold: Promise<void> | null = null
const elsewhere = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    const { pathname } = new URL(request.url)
    asked.push(`${pathname} ${request.headers.get('cookie') ?? '-'}`)
    await hold
    if (pathname === '/away') return Response.redirect('/pixel.png')
    if (pathname === '/inside') return Response.redirect('http://169.254.169.254/latest/meta-data')
    if (pathname === '/large')
      return new Response(Buffer.alloc(3_000_000), { headers: { 'content-type': 'image/png' } })
    const types: Record<string, string> = { '/pixel.png': 'image/png', '/svg': 'image/svg+xml', '/page': 'text/html' }
    const type = types[pathname] ?? (pathname.startsWith('/many') ? 'image/png' : null)
    return type ? new Response(PIXEL, { headers: { 'content-type': type } }) : new Response('no', { status: 404 })
  },
})

beforeAll(async () => {
  const outbound = openGuardedFetch({
    userAgent: 'test',
    permits: (address, port) => address === '127.0.0.1' && port === elsewhere.port,
  })
  gateway = await openHarness({ outbound })
  owner = await gateway.owner()
  asked = []
})
afterAll(async () => {
  await elsewhere.stop(true)
  await closeReconciled(gateway)
})

const at = (path: string) => `http://127.0.0.1:${elsewhere.port}${path}`
const thumbnail = (url: string, who = owner) => who.api(`/api/thumbnail?url=${encodeURIComponent(url)}`)

describe('GET /api/thumbnail', () => {
  test('returns a picture from elsewhere, without our cookie, in a form that can only be displayed', async () => {
    const answer = await thumbnail(at('/pixel.png'))
    expect(answer.status).toBe(200)
    expect(Buffer.from(await answer.arrayBuffer()).equals(PIXEL)).toBe(true)
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'image/png',
      'cache-control': 'private, max-age=3600',
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-origin',
    })
    expect(asked).toEqual(['/pixel.png -'])
  })

  test('fetches once an hour', async () => {
    await thumbnail(at('/pixel.png'))
    expect(asked).toHaveLength(1)
    gateway.clock.advance(3_600_001)
    expect((await thumbnail(at('/pixel.png'))).status).toBe(200)
    expect(asked).toHaveLength(2)
  })

  test('follows a redirect', async () => {
    expect((await thumbnail(at('/away'))).status).toBe(200)
  })

  test.each([
    ['a picture that could run scripts', () => at('/svg')],
    ['a page', () => at('/page')],
    ['nothing there', () => at('/none')],
    ['more than 2 MB', () => at('/large')],
    ['a redirect into the house', () => at('/inside')],
    ['an address of the house', () => 'http://169.254.169.254/latest/meta-data'],
    ['the gateway itself', () => `http://127.0.0.1:${gateway.config.port}/health`],
    ['a file', () => 'file:///etc/passwd'],
    ['no address', () => 'picture'],
  ])('of %s is 404, always with the same message', async (_what, url) => {
    const refusal = await refusalOf(thumbnail(url()))
    expect(refusal).toMatchObject({
      status: 404,
      code: 'resource_not_found',
      message: 'This image could not be loaded.',
    })
  })

  test('requires a session and an address', async () => {
    expect((await gateway.call(`/api/thumbnail?url=${encodeURIComponent(at('/pixel.png'))}`)).status).toBe(401)
    for (const path of ['/api/thumbnail', '/api/thumbnail?url=']) expect((await owner.api(path)).status).toBe(400)
  })

  test('is limited to 16 at a time per account; another account is not affected', async () => {
    const gate = Promise.withResolvers<void>()
    hold = gate.promise
    const before = asked.length
    const many = Array.from({ length: 17 }, (_, i) => thumbnail(at(`/many${i}`)))
    // Which of the 17 comes too late is anyone's guess; the 16 others cannot answer before the gate is open.
    const refused = await Promise.race(many)
    expect(await refusalOf(refused)).toMatchObject({ status: 429, code: 'rate_limit_exceeded' })
    await until(() => asked.length >= before + 16)
    const other = thumbnail(at('/many99'), await gateway.owner())
    gate.resolve()
    hold = null
    const served = (await Promise.all([...many, other])).filter((answer) => answer !== refused)
    expect(served.map((answer) => answer.status)).toEqual(Array(17).fill(200))
    expect((await thumbnail(at('/many16'))).status).toBe(200)
  })
})
