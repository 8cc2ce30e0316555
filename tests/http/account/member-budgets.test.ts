import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { oauthApp } from '../../support/agents/oauth'
import { type Harness, openHarness, WIDE } from '../../support/harness'
import { closeReconciled, IMAGES, joined, keyBench, membersOf, type Owner, read } from '../owner-bench'

const PRICE = 5_000
const UTC = { period: 'month', timezone: 'UTC' } as const

let gateway: Harness
let owner: Owner
beforeAll(async () => {
  gateway = await openHarness()
  owner = await gateway.owner('operator@example.com')
  const { id } = await read<{ id: `acct_${string}` }>(owner.api('/api/account'))
  const operator = { kind: 'operator', id: 'test', address: null } as const
  await gateway.core.operator.setLimits(operator, id, WIDE)
})
afterAll(() => closeReconciled(gateway))

async function member(role: string): Promise<Owner & { readonly id: string }> {
  const person = await joined(gateway, owner, role)
  return { ...person, id: (await membersOf(owner)).find(({ email }) => email === person.email)!.id }
}
const budget = (id: string, calls: number) =>
  read(owner.api(`/api/members/${id}/budgets`, { budgets: [{ ...UTC, limit_usd: (calls * PRICE) / 1e6 }] }, 'PUT'))
const statuses = (secrets: readonly string[], calls: number) =>
  Promise.all(
    Array.from({ length: calls }, async (_, at) => (await gateway.as(secrets[at % secrets.length]!, IMAGES)).status),
  )
const served = (all: readonly number[]) => all.filter((status) => status === 200).length

describe('the budget of a member', () => {
  test('binds all keys and apps of theirs together, exactly: those from before, of apps, and made later', async () => {
    const person = await member('developer')
    const before = await keyBench(person).create({ name: 'before' })
    expect(served(await statuses([before.secret], 3))).toBe(3)
    const app = await oauthApp(gateway, person).connect('data:read keys:write', ['/v1', '/apis/v1'])
    const made = await read<{ secret: string }>(
      gateway.as(app.access_token, '/v1/keys', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'of the app' }),
      }),
      201,
    )
    await budget(person.id, 20)
    const later = await keyBench(person).create({ name: 'later' })
    const all = await statuses([before.secret, app.access_token, made.secret, later.secret], 200)
    expect(served(all)).toBe(17)
    expect(all.filter((status) => status !== 200 && status !== 429)).toEqual([])
    const members = await membersOf(owner)
    const shown = members.find(({ id }) => id === person.id)!
    expect(shown.budget_windows).toMatchObject([{ spent_micros_usd: 20 * PRICE, remaining_micros_usd: 0 }])
    const others = await keyBench(owner).create({ name: 'another member' })
    expect(served(await statuses([others.secret], 2))).toBe(2)
    await budget(person.id, 22)
    expect(served(await statuses([later.secret], 5))).toBe(2)
  })

  test('goes along with a key that is given to another member, or no longer binds it as one of the workspace', async () => {
    const [from, to] = [await member('developer'), await member('developer')]
    const key = await keyBench(from).create({ name: 'given' })
    const shown = (who: Pick<typeof owner, 'api'>) =>
      read<{ key: { made_by?: { id: string } | null } }>(who.api(`/api/keys/${key.key.id}`))
    expect((await shown(owner)).key.made_by?.id).toBe(from.id)
    expect((await shown(from)).key).not.toHaveProperty('made_by')
    await budget(from.id, 2)
    expect(served(await statuses([key.secret], 4))).toBe(2)
    await budget(to.id, 5)
    await read(owner.api(`/api/keys/${key.key.id}/give`, { to: to.id }))
    expect(served(await statuses([key.secret], 9))).toBe(3)
    const { error } = await read<{ error: { message: string } }>(gateway.as(key.secret, IMAGES), 429)
    expect(error.message).toContain('the budget of the member who made this key')
    const members = await membersOf(owner)
    const spent = [from, to].map(({ id }) => members.find((one) => one.id === id)!.budget_windows[0]!.spent_micros_usd)
    expect(spent).toEqual([0, 5 * PRICE])
    const other = await keyBench(from).create({ name: 'has the room that the given one left' })
    expect(served(await statuses([other.secret], 40))).toBe(2)
    expect(await (await to.api('/api/keys')).text()).toContain(key.key.id)
    expect(await (await from.api('/api/keys')).text()).not.toContain(key.key.id)
    expect((await shown(owner)).key.made_by?.id).toBe(to.id)
    await read(owner.api(`/api/keys/${key.key.id}/give`, { to: null }))
    expect((await shown(owner)).key.made_by).toBeNull()
    expect(served(await statuses([key.secret], 2))).toBe(2)
    expect((await to.api(`/api/keys/${key.key.id}/give`, { to: to.id })).status).toBe(403)
  })

  test('counts each charge of a key that moves between members while it calls, once and where the key is', async () => {
    const [from, to] = [await member('developer'), await member('developer')]
    const moved = await keyBench(from).create({ name: 'moved' })
    const kept = await keyBench(to).create({ name: 'kept' })
    for (const { id } of [from, to]) await budget(id, 1000)
    const calls = [moved, kept].map(() => ({ served: 0 }))
    let isMoving = true
    const calling = [moved, kept, moved, kept, moved, kept].map(async ({ secret }, at) => {
      while (isMoving) if ((await gateway.as(secret, IMAGES)).status === 200) calls[at % 2]!.served++
    })
    for (const { id } of [to, from, to, from, to, from])
      await read(owner.api(`/api/keys/${moved.key.id}/give`, { to: id }))
    isMoving = false
    await Promise.all(calling)
    const members = await membersOf(owner)
    const spent = [from, to].map(
      ({ id }) => members.find((one) => one.id === id)!.budget_windows[0]!.spent_micros_usd / PRICE,
    )
    expect(spent).toEqual(calls.map((one) => one.served))
  })

  test('is not renewed by a key that moves, not for a moment', async () => {
    const [from, to] = [await member('developer'), await member('developer')]
    const { key, secret } = await keyBench(from).create({ name: 'to and fro' })
    for (const { id } of [from, to]) await budget(id, 3)
    let isMoving = true
    let most = 0
    const calling = Array.from({ length: 8 }, async () => {
      while (isMoving) {
        if ((await gateway.as(secret, IMAGES)).status === 200) most++
        // Refusals alone would leave the moves no turn.
        await new Promise((next) => setImmediate(next))
      }
    })
    for (const { id } of [to, from, to, from, to]) await read(owner.api(`/api/keys/${key.id}/give`, { to: id }))
    isMoving = false
    await Promise.all(calling)
    expect(most).toBe(3)
  })

  test('is the default of who joins', async () => {
    const budgets = [{ ...UTC, limit_usd: (2 * PRICE) / 1e6 }]
    await read(owner.api('/api/members/default-budgets', { budgets }, 'PUT'))
    const person = await member('developer')
    const key = await keyBench(person).create({ name: 'new' })
    expect(served(await statuses([key.secret], 6))).toBe(2)
    await read(owner.api('/api/members/default-budgets', { budgets: [] }, 'PUT'))
    expect(await read(owner.api('/api/members/default-budgets'))).toEqual({ budgets: [] })
  })

  test('is set by who may, and says what is wrong', async () => {
    const person = await member('developer')
    expect((await person.api(`/api/members/${person.id}/budgets`, { budgets: [] }, 'PUT')).status).toBe(403)
    const wrong = {
      budgets: [
        { ...UTC, limit_usd: 1 },
        { ...UTC, limit_usd: 2 },
      ],
    }
    expect((await owner.api(`/api/members/${person.id}/budgets`, wrong, 'PUT')).status).toBe(400)
    expect((await owner.api('/api/members/nobody/budgets', { budgets: [] }, 'PUT')).status).toBe(404)
  })
})
