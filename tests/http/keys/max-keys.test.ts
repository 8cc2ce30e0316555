import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Harness, openHarness } from '../../support/harness'
import { endAndReconcile } from '../wire'

// A shared machine may stand still for seconds; said here, since an import says it for the first file of a run only.
let gateway: Harness
beforeAll(async () => {
  gateway = await openHarness()
})
afterAll(() => endAndReconcile(gateway))

type Owner = Awaited<ReturnType<Harness['owner']>>

/** An owner who may have so many live keys. */
async function ownerOf(keys: number) {
  const owner = await gateway.owner()
  await owner.api('/api/keys')
  const [newest] = await gateway.core.accounts.list(1, null)
  expect((await gateway.control(`/accounts/${newest?.id}/max-keys`, { keys })).status).toBe(200)
  return { owner, account: newest?.id }
}

const create = (owner: Owner, name: string) => owner.api('/api/keys', { name })
const verdict = async (answer: Response | Promise<Response>) => {
  const { status } = await answer
  return status
}
async function idOf(answer: Promise<Response>): Promise<string> {
  return ((await (await answer).json()) as { key: { id: string } }).key.id
}

describe('an account has a maximum number of live keys', () => {
  test('of ten created concurrently where three are allowed, three succeed; the others are 409 limit_reached', async () => {
    const { owner } = await ownerOf(3)
    const answers = await Promise.all(Array.from({ length: 10 }, (_, i) => create(owner, `at once ${i}`)))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, 409, 409, 409, 409, 409, 409, 409])
    const refused = answers.find(({ status }) => status === 409)
    expect(await refused?.json()).toMatchObject({
      error: { type: 'invalid_request_error', code: 'limit_reached', message: expect.stringContaining('3 live keys') },
    })
  })

  test('a disabled key counts, because it can be enabled again; a revoked one does not', async () => {
    const { owner } = await ownerOf(1)
    const id = await idOf(create(owner, 'first'))
    expect(await verdict(owner.api(`/api/keys/${id}/disable`, {}))).toBe(200)
    expect(await verdict(create(owner, 'second'))).toBe(409)
    expect(await verdict(owner.api(`/api/keys/${id}/revoke`, {}))).toBe(200)
    expect(await verdict(create(owner, 'second'))).toBe(201)
  })

  test('a full account can rotate each of its keys, but not accumulate replaced ones', async () => {
    const { owner } = await ownerOf(2)
    const [one, two] = [await idOf(create(owner, 'one')), await idOf(create(owner, 'two'))]
    const next = await idOf(owner.api(`/api/keys/${one}/rotate`, {}))
    expect(await verdict(owner.api(`/api/keys/${two}/rotate`, {}))).toBe(201)
    expect(await verdict(create(owner, 'three'))).toBe(409)
    const piled = await owner.api(`/api/keys/${next}/rotate`, {})
    expect([piled.status, await piled.json()]).toMatchObject([409, { error: { code: 'limit_reached' } }])
    expect(await verdict(owner.api(`/api/keys/${one}/revoke`, {}))).toBe(200)
    expect(await verdict(owner.api(`/api/keys/${next}/rotate`, {}))).toBe(201)
  })

  test('the operator raises it and resets it; existing keys stay', async () => {
    const { owner, account } = await ownerOf(1)
    const first = await create(owner, 'first')
    expect(first.status).toBe(201)
    expect(await (await gateway.control(`/accounts/${account}/max-keys`, { keys: 2 })).json()).toMatchObject({
      account: { id: account, most_keys: 2 },
    })
    expect(await verdict(create(owner, 'second'))).toBe(201)
    await gateway.control(`/accounts/${account}/max-keys`, { keys: 1 })
    expect(await verdict(create(owner, 'third'))).toBe(409)
    const { keys } = (await (await owner.api('/api/keys')).json()) as { keys: { status: string }[] }
    expect(keys.map(({ status }) => status)).toEqual(['active', 'active'])
    expect(await (await gateway.control(`/accounts/${account}/max-keys`, { keys: null })).json()).toMatchObject({
      account: { most_keys: 1000 },
    })
    for (const keys of [0, -1, 1.5, '3'])
      expect([keys, (await gateway.control(`/accounts/${account}/max-keys`, { keys })).status]).toEqual([keys, 400])
  })
})
