import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { executeOn } from '../support/databases/database-file'
import { reconcile } from '../support/reconcile'
import {
  control,
  dataFolder,
  removeFolder,
  type ServerProcess,
  SOURCE,
  signUp,
  startServer,
} from '../support/servers/server-process'

const SEARCH = '/apis/v1/websearch/images/search?q=credit%20card'

describe('one server, from start to stop', () => {
  let folder = ''
  let server: ServerProcess
  let owner: Awaited<ReturnType<typeof signUp>>

  beforeAll(async () => {
    folder = await dataFolder({ migrated: false })
    server = await startServer(folder, {}, SOURCE)
    owner = await signUp(server.url, 'ada@example.com')
    await control(folder, `/accounts/${owner.id}/limits`, { limits: { rpm: 1e6, tpm: 1e6, concurrency: 100 } })
    await control(folder, `/accounts/${owner.id}/grants`, { usd: '100' })
  })
  afterAll(() => removeFolder(folder))

  test('real image and context results come offline, each for 5000 micro-USD (spec 1.3, 4.1, 4.2)', async () => {
    const { secret } = await owner.api('/api/keys', { name: 'real' })
    const headers = { authorization: `Bearer ${secret}` }
    const images = await fetch(server.url + SEARCH, { headers })
    expect(images.headers.get('x-cost-micros-usd')).toBe('5000')
    const [first] = (await images.json()).results
    expect(first.title).toContain('Credit card')
    const icon = await fetch(first.properties.url)
    expect(icon.headers.get('content-type')).toBe('image/svg+xml')
    expect(await icon.text()).toContain('<svg')
    const context = await fetch(`${server.url}/apis/v1/websearch/llm/context?q=scroll%20chuck`, { headers })
    const { grounding, sources } = await context.json()
    expect(grounding.generic.length).toBeGreaterThan(0)
    expect(Object.keys(sources).some((url) => url.includes('lathe'))).toBe(true)
  })

  test('a 0.01 USD limit allows exactly two calls, 20 sent at once (spec 2.1)', async () => {
    const { secret } = await owner.api('/api/keys', { name: 'two', spending_limit: 0.01 })
    const call = () => fetch(server.url + SEARCH, { headers: { authorization: `Bearer ${secret}` } })
    const statuses = (await Promise.all(Array.from({ length: 20 }, call))).map((answer) => answer.status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(2)
    expect(statuses.filter((status) => status === 402)).toHaveLength(18)
  })

  test('a key disabled under load serves no call that began after the change returned (spec 3, spec D3)', async () => {
    const { secret, key } = await owner.api('/api/keys', { name: 'leaked' })
    let disabled = false
    let servedAfter = 0
    let servedBefore = 0
    let refused = 0
    const warm = Promise.withResolvers<void>()
    const client = async () => {
      while (refused < 50) {
        const beganAfter = disabled
        const answer = await fetch(server.url + SEARCH, { headers: { authorization: `Bearer ${secret}` } })
        await answer.arrayBuffer()
        if (answer.status === 200 && beganAfter) servedAfter++
        else if (answer.status === 200 && ++servedBefore === 30) warm.resolve()
        else if (answer.status === 401) refused++
      }
    }
    const clients = Promise.all(Array.from({ length: 16 }, client))
    await warm.promise
    await owner.api(`/api/keys/${key.id}/disable`, {})
    disabled = true
    await clients
    expect(servedAfter).toBe(0)
  })

  test('a second start on the same data folder is refused in one line', async () => {
    await expect(startServer(folder)).rejects.toThrow(
      /^the server ended: gateway: .* is in use by another gateway.*\n$/,
    )
    expect((await fetch(`${server.url}/ready`)).status).toBe(200)
  })

  test('the control socket is open to this user only', async () => {
    expect((await stat(join(folder, 'control.sock'))).mode & 0o777).toBe(0o600)
  })

  test('SIGTERM lets calls in progress settle, then exits 0, and every sum agrees', async () => {
    const { secret } = await owner.api('/api/keys', { name: 'draining' })
    const call = () => fetch(server.url + SEARCH, { headers: { authorization: `Bearer ${secret}` } })
    const calls = Array.from({ length: 40 }, () =>
      call().then(
        async (answer) => {
          await answer.arrayBuffer()
          return answer.status
        },
        () => 0,
      ),
    )
    await Promise.race(calls)
    expect(await server.kill('SIGTERM')).toBe(0)
    const statuses = await Promise.all(calls)
    // A call is served, or told to come back, or its connection was never taken; none is cut in the middle unpaid or unserved.
    expect(statuses.every((status) => [0, 200, 503].includes(status))).toBe(true)
    const { problems, charges } = await reconcile(join(folder, 'gateway.db'))
    expect(problems).toEqual([])
    expect(charges).toBeGreaterThanOrEqual(statuses.filter((status) => status === 200).length)
  })

  test('a clock before the last entry is refused in one line, and believed with --accept-clock', async () => {
    await change(`INSERT INTO entries (transaction_id, kind, debit, credit, amount, at, description)
      SELECT 'txn_ahead', kind, debit, credit, amount, at + 86400000, '' FROM entries ORDER BY seq DESC LIMIT 1`)
    await expect(startServer(folder)).rejects.toThrow(
      /^the server ended: gateway: the clock of this machine says [^\n]* start once with --accept-clock\n$/,
    )
    const accepted = await startServer(folder, {}, undefined, ['--accept-clock'])
    expect(await accepted.kill('SIGTERM')).toBe(0)
  })

  test('older code refuses data of newer code in one line, and changes nothing', async () => {
    await change(`INSERT INTO __drizzle_migrations (hash, created_at) VALUES ('of a later version', 4102444800000)`)
    await change(`UPDATE owner SET version = '9.1.0'`)
    const before = await change('SELECT * FROM owner')
    await expect(startServer(folder, {}, undefined, ['--accept-clock'])).rejects.toThrow(
      /^the server ended: gateway: the data was written by a newer version of the gateway \(9\.1\.0, schema of 2100-[^\n]*\n$/,
    )
    expect(await change('SELECT * FROM owner')).toEqual(before)
  })

  /** As if somebody else had written to the database. */
  async function change(sql: string) {
    return (await executeOn(join(folder, 'gateway.db'), sql)).map((row) => ({ ...row }))
  }
})

test('an invalid setting stops the start with one line that names it', async () => {
  const folder = join(import.meta.dir, 'never-made')
  await expect(startServer(folder, { ANON_RPM: '0' })).rejects.toThrow(/^the server ended: gateway: ANON_RPM [^\n]*\n$/)
})
