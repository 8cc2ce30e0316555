import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Harness, openHarness } from '../../../support/harness'
import { auditRows, closeReconciled, keyBench, type MadeKey, type Owner, refusalOf } from '../../owner-bench'

const BASE_URL = 'https://gateway.example'

let gateway: Harness
let owner: Owner
let made: MadeKey

beforeAll(async () => {
  gateway = await openHarness({ env: { BASE_URL, PORT: '4321' } })
  owner = await gateway.owner()
  made = await keyBench(owner).create()
})
afterAll(() => closeReconciled(gateway))

const WRITES: [string, string, unknown][] = [
  ['POST', '/api/keys', { name: 'another' }],
  ['PATCH', '/api/keys/:id', { name: 'renamed' }],
  ['POST', '/api/keys/:id/rotate', {}],
  ['POST', '/api/keys/:id/disable', undefined],
  ['POST', '/api/keys/:id/enable', undefined],
  ['POST', '/api/keys/:id/revoke', undefined],
  ['POST', '/api/account/operator', { token: 'x' }],
  ['POST', '/api/auth/sign-out', undefined],
]

describe('403 foreign_origin (spec D3)', () => {
  test.each(WRITES)('%s %s from another site changes nothing, cookie or not', async (method, path, body) => {
    const before = await auditRows(gateway)
    const foreign: Record<string, string>[] = [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: `${BASE_URL}.evil.example` },
      { origin: 'http://gateway.example' },
      { origin: 'http://localhost:9999' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { origin: 'null', 'sec-fetch-site': 'same-origin' },
    ]
    for (const headers of foreign)
      expect(await refusalOf(owner.api(path.replace(':id', made.key.id), body, method, headers))).toMatchObject({
        status: 403,
        type: 'permission_error',
        code: 'foreign_origin',
      })
    expect(await auditRows(gateway)).toEqual(before)
    expect((await owner.api('/api/account')).status).toBe(200)
  })
})

describe('200', () => {
  test.each([
    ['BASE_URL', { origin: BASE_URL }],
    ['BASE_URL in a browser', { origin: BASE_URL, 'sec-fetch-site': 'same-origin' }],
    ['localhost', { origin: 'http://localhost:4321' }],
    ['127.0.0.1', { origin: 'http://127.0.0.1:4321' }],
    ['a browser that says same-origin and no Origin', { 'sec-fetch-site': 'same-origin' }],
    ['a script, which says neither', {}],
  ])('answers a write from %s', async (_who, headers) => {
    const answer = await owner.api(`/api/keys/${made.key.id}`, { name: 'ours' }, 'PATCH', headers)
    expect(answer.status).toBe(200)
  })

  test('answers a read from anywhere, since no page of another site can see the answer', async () => {
    const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
    const answer = await owner.api('/api/account', undefined, 'GET', headers)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('access-control-allow-origin')).toBeNull()
  })
})
