import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Harness, openHarness } from '../../support/harness'
import { closeReconciled, keyBench, type Owner, read, refusalOf } from '../owner-bench'

interface Batch {
  readonly parts: readonly { readonly status: number; readonly body: Record<string, unknown> }[]
}

let gateway: Harness
let owner: Owner

beforeAll(async () => {
  gateway = await openHarness()
  owner = await gateway.owner()
  await keyBench(owner).create({ name: 'the key' })
})
afterAll(() => closeReconciled(gateway))

const pathOf = (...parts: string[]) => `/api/batch?${new URLSearchParams(parts.map((part) => ['get', part]))}`
const batch = (...parts: string[]) => read<Batch>(owner.api(pathOf(...parts)))

describe('GET /api/batch', () => {
  test('answers each part as a request of its own: same body, own status, in order', async () => {
    const alone = await read(owner.api('/api/keys?limit=1&q=the%20key'))
    const { parts } = await batch('keys?limit=1&q=the%20key', 'requests/req_none', 'requests?limit=0', 'account')
    expect(parts.map(({ status }) => status)).toEqual([200, 404, 400, 200])
    expect(parts[0]?.body).toEqual(alone as never)
    expect(parts[1]?.body).toMatchObject({ error: { code: 'resource_not_found' } })
    // The address is that of who asked for the batch.
    expect(parts[3]?.body).toMatchObject({ ip: '127.0.0.1' })
  })

  test('reads nothing of a stranger, and nothing without a session', async () => {
    const { id } = await read<{ id: string }>(owner.api('/api/account'))
    const stranger = await gateway.owner()
    const { parts } = await read<Batch>(stranger.api(pathOf('keys', 'account')))
    expect(parts[0]?.body).toMatchObject({ keys: [] })
    expect(parts[1]?.body['id']).not.toBe(id)
    const signedOut = await refusalOf(gateway.call(pathOf('keys')))
    expect([signedOut.status, signedOut.code]).toEqual([401, 'missing_session'])
  })

  test.each([
    'batch?get=keys',
    'batch/',
    'events',
    'auth/get-session',
    'operator/accounts',
    'thumbnail?url=x',
    '../v1/usage',
    '%2e%2e/v1/usage',
    '../api/batch',
    'usage.csv',
    'settings/export',
    'account/%2e%2e/batch?get=keys',
    'keys\\..\\..\\v1\\models',
  ])('refuses the part "%s"', async (part) => {
    const refusal = await refusalOf(owner.api(pathOf('keys', part)))
    expect([refusal.status, refusal.code]).toEqual([400, 'invalid_request'])
  })

  test('looks for every part on this server, below /api/', async () => {
    const { parts } = await batch('//evil.example/api/keys', 'https://evil.example/', '', 'e%76ents', 'account#part')
    expect(parts.map(({ status }) => status)).toEqual([404, 404, 404, 404, 200])
  })

  test('refuses no part and more parts than a page has', async () => {
    expect((await owner.api('/api/batch')).status).toBe(400)
    expect((await owner.api(pathOf(...Array.from({ length: 25 }, () => 'account')))).status).toBe(400)
  })
})
