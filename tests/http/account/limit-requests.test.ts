import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { eventSource } from '../../support/agents/event-source'
import { type Harness, openHarness } from '../../support/harness'
import { type AccountBody, auditRows, closeReconciled, type Owner, read, refusalOf } from '../owner-bench'

interface RequestBody {
  readonly id: string
  readonly workspace_id: string
  readonly status: string
  readonly reason: string | null
  readonly created_at: string
  readonly decided_at: string | null
  readonly email?: string | null
}

const WISH = {
  peak_rpm: 2000,
  peak_tpm: 500_000,
  endpoints: ['image-search', 'llm-context'],
  use_case: 'A catalog of a million products, each with its pictures.',
}

let gateway: Harness
let operator: Owner
beforeAll(async () => {
  gateway = await openHarness()
  operator = await gateway.owner()
})
afterAll(() => closeReconciled(gateway))

const ask = (who: Owner, body: unknown = WISH) => who.api('/api/limit-requests', body, 'POST')
const asked = async (who: Owner) => (await read<{ request: RequestBody }>(ask(who), 201)).request
const mine = async (who: Owner) => (await read<{ requests: RequestBody[] }>(who.api('/api/limit-requests'))).requests
const decide = (id: string, how: 'approve' | 'decline', body: unknown = {}, who = operator) =>
  who.api(`/api/operator/limit-requests/${id}/${how}`, body)
const accountOf = (who: Owner) => read<AccountBody>(who.api('/api/account'))
const rpmOf = async (who: Owner) =>
  (await read<{ limits: { requests_per_minute: number } }>(who.api('/api/limits'))).limits.requests_per_minute

describe("an owner's request for higher limits (spec 8)", () => {
  test('has the workspace, the peaks, the endpoints and the use case, and is pending', async () => {
    const owner = await gateway.owner()
    const request = await asked(owner)
    expect(request).toEqual({
      id: expect.stringMatching(/^lim_[0-9a-f]{32}$/),
      workspace_id: (await accountOf(owner)).id,
      status: 'pending',
      ...WISH,
      reason: null,
      created_at: new Date(gateway.clock.now()).toISOString(),
      decided_at: null,
    } as never)
    expect(await mine(owner)).toEqual([request])
    expect((await auditRows(gateway)).at(-1)).toMatchObject({
      action: 'limits.request',
      account_id: request.workspace_id,
    })
  })

  test('is accepted once at a time, also when ten are sent concurrently, and again after the decision', async () => {
    const owner = await gateway.owner()
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask(owner)))
    expect(answers.map((answer) => answer.status).sort()).toEqual([201, ...Array.from({ length: 9 }, () => 409)])
    expect(await refusalOf(ask(owner))).toMatchObject({ status: 409, code: 'invalid_state' })
    const [request] = await mine(owner)
    await read(decide(request?.id ?? '', 'decline', { reason: 'Say more about the use.' }))
    await asked(owner)
    expect((await mine(owner)).map(({ status }) => status)).toEqual(['pending', 'declined'])
  })

  test.each([
    [{ peak_rpm: 60, peak_tpm: 60_000 }, ['peak_rpm']],
    [{ peak_rpm: 0 }, ['peak_rpm']],
    [{ peak_tpm: 1.5 }, ['peak_tpm']],
    [{ endpoints: [] }, ['endpoints']],
    [{ endpoints: ['image search'] }, ['endpoints']],
    [{ endpoints: 'image-search' }, ['endpoints']],
    [{ use_case: '      too short      ' }, ['use_case']],
    [{ use_case: 'x'.repeat(2001) }, ['use_case']],
    [{ use_case: 'A catalog of pictures \x1b]52;c;cm0gLXJm\x07 and more.' }, ['use_case']],
    [{ use_case: 'A catalog of pictures \u202Egnp.exe' }, ['use_case']],
    [{ workspace: 'acct_1' }, ['workspace']],
    [
      { peak_rpm: '2000', endpoints: null, use_case: 7, peak_tpm: undefined },
      ['peak_rpm', 'peak_tpm', 'endpoints', 'use_case'],
    ],
  ])('of %j is refused by name, all errors at once', async (change, params) => {
    const owner = await gateway.owner()
    const refusal = await refusalOf(ask(owner, { ...WISH, ...change }))
    expect(refusal).toMatchObject({ status: 400, code: 'invalid_parameter' })
    expect(refusal.details?.map(({ param }) => param)).toEqual(params)
    expect(await mine(owner)).toEqual([])
  })

  test('is visible to its owner only', async () => {
    const [one, other] = [await gateway.owner(), await gateway.owner()]
    const request = await asked(one)
    expect(await mine(other)).toEqual([])
    expect((await mine(one)).map(({ id }) => id)).toEqual([request.id])
  })
})

describe('the operator', () => {
  test('sees pending requests with their owners, and pages through all', async () => {
    const owner = await gateway.owner()
    const request = await asked(owner)
    const page = await read<{ requests: RequestBody[]; next_cursor: string | null }>(
      operator.api('/api/operator/limit-requests?status=pending&limit=1'),
    )
    expect(page.requests).toMatchObject([{ id: request.id, email: owner.email }])
    expect(page.next_cursor).toBe(request.id)
    const rest = await read<{ requests: RequestBody[] }>(
      operator.api(`/api/operator/limit-requests?status=pending&cursor=${page.next_cursor}`),
    )
    expect(rest.requests.every(({ id, status }) => id < request.id && status === 'pending')).toBe(true)
  })

  test('approves: Free or Starter is Growth from the next request on, with an event and an audit row (spec 8)', async () => {
    const owner = await gateway.owner()
    const request = await asked(owner)
    const source = eventSource(await gateway.call('/api/events', { headers: { cookie: owner.cookie } }))
    expect(await rpmOf(owner)).toBe(60)
    const { request: decided } = await read<{ request: RequestBody }>(decide(request.id, 'approve'))
    expect(decided).toMatchObject({ status: 'approved', reason: null })
    expect(await accountOf(owner)).toMatchObject({ tier: 'growth' })
    expect(await rpmOf(owner)).toBe(3000)
    expect((await source.nextOf('tier')).data).toEqual({ tier: 'growth' })
    await source.close()
    const row = (await auditRows(gateway)).at(-1)
    expect(row).toMatchObject({ action: 'limits.approved', actor_kind: 'operator', account_id: request.workspace_id })
    expect(JSON.parse(row?.detail ?? '')).toEqual({ id: request.id, reason: null })
  })

  test('may set custom limits instead, which an account that is already Growth needs', async () => {
    const owner = await gateway.owner()
    await read(decide((await asked(owner)).id, 'approve'))
    const second = await read<{ request: RequestBody }>(ask(owner, { ...WISH, peak_rpm: 9000 }), 201)
    expect(await refusalOf(decide(second.request.id, 'approve'))).toMatchObject({ status: 409, code: 'invalid_state' })
    const limits = { rpm: 9000, tpm: 9_000_000, concurrency: 90 }
    await read(decide(second.request.id, 'approve', { limits, reason: 'As we spoke.' }))
    expect(await rpmOf(owner)).toBe(9000)
    expect(await accountOf(owner)).toMatchObject({ tier: 'enterprise' })
  })

  test('declines with a reason that the owner can read; without one it is refused', async () => {
    const owner = await gateway.owner()
    const { id } = await asked(owner)
    for (const body of [{}, { reason: '  ' }, { reason: 7 }, { reason: 'x'.repeat(1001) }])
      expect(await refusalOf(decide(id, 'decline', body))).toMatchObject({ status: 400, param: 'reason' } as never)
    await read(decide(id, 'decline', { reason: ' Too little use so far. ' }))
    expect(await mine(owner)).toMatchObject([{ status: 'declined', reason: 'Too little use so far.' }])
    expect(await rpmOf(owner)).toBe(60)
  })

  test('decides once, also with ten concurrent decisions', async () => {
    const owner = await gateway.owner()
    const { id } = await asked(owner)
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) => decide(id, i % 2 === 0 ? 'approve' : 'decline', { reason: 'So.' })),
    )
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1)
    expect(answers.filter((answer) => answer.status === 409)).toHaveLength(9)
  })

  test('gets 404 for an unknown request', async () => {
    expect(await refusalOf(decide('lim_none', 'approve'))).toMatchObject({ status: 404, code: 'resource_not_found' })
  })
})
