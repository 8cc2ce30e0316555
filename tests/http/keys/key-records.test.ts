import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Harness, openHarness } from '../../support/harness'
import { closeReconciled, type Owner, read } from '../owner-bench'

interface ListBody {
  readonly keys: readonly { readonly id: string; readonly name: string }[]
  readonly counts: Record<string, number>
  readonly next_cursor: string | null
}

interface HistoryBody {
  readonly history: readonly {
    readonly action: string
    readonly by: string
    readonly ip: string | null
    readonly settings: string[]
    readonly successor: string | null
  }[]
  readonly next_cursor: string | null
}

let gateway: Harness
let owner: Owner
const ids = new Map<string, string>()

beforeAll(async () => {
  gateway = await openHarness()
  owner = await gateway.owner()
  for (const name of ['beta', 'Alpha', 'gamma', 'delta']) {
    const made = await read<{ key: { id: string } }>(owner.api('/api/keys', { name, spending_limit: 0.005 }), 201)
    ids.set(name, made.key.id)
    gateway.clock.advance(1_000)
  }
  await owner.api(`/api/keys/${ids.get('delta')}/disable`, undefined, 'POST')
  await owner.api(`/api/keys/${ids.get('gamma')}/revoke`, undefined, 'POST')
})
afterAll(() => closeReconciled(gateway))

const list = (query: string) => read<ListBody>(owner.api(`/api/keys${query}`))
const namesOf = (body: ListBody) => body.keys.map(({ name }) => name)

describe('the list of keys', () => {
  test('counts every status over all keys, not only over the page', async () => {
    const body = await list('?limit=1')
    expect(namesOf(body)).toEqual(['delta'])
    expect(body.counts).toEqual({ active: 2, disabled: 1, expired: 0, exhausted: 0, revoked: 1 })
  })

  test('is searched by name in any letter case, and by the last four characters', async () => {
    expect(namesOf(await list('?q=ALPH'))).toEqual(['Alpha'])
    const [beta] = (await read<{ keys: { last4: string; name: string }[] }>(owner.api('/api/keys?q=beta'))).keys
    expect(namesOf(await list(`?q=${beta?.last4}`))).toContain('beta')
    expect(namesOf(await list('?q=nothing'))).toEqual([])
  })

  test('is sorted over all pages', async () => {
    const first = await list('?sort=name&order=asc&limit=2')
    expect(namesOf(first)).toEqual(['Alpha', 'beta'])
    expect(namesOf(await list(`?sort=name&order=asc&limit=2&cursor=${first.next_cursor}`))).toEqual(['delta'])
    expect(namesOf(await list('?sort=status&order=asc'))).toEqual(['beta', 'Alpha', 'delta'])
  })

  test('refuses a cursor of another list', async () => {
    const answer = await owner.api('/api/keys?cursor=key_none')
    expect(answer.status).toBe(400)
  })
})

describe('names of keys', () => {
  test('include every key, revoked ones too, and nothing of another account', async () => {
    const other = await gateway.owner()
    expect(await read<unknown>(other.api('/api/keys/names'))).toEqual({ names: [] })
    const { names } = await read<{ names: { name: string; revoked: boolean }[] }>(owner.api('/api/keys/names'))
    expect(names.map(({ name, revoked }) => [name, revoked])).toEqual([
      ['delta', false],
      ['gamma', true],
      ['Alpha', false],
      ['beta', false],
    ])
  })
})

describe('the history of a key', () => {
  test('lists each change, newest first, with its settings and no secret', async () => {
    const id = ids.get('beta')
    await owner.api(`/api/keys/${id}`, { spending_limit: 3, allowed_ips: ['10.0.0.1'] }, 'PATCH')
    const made = await read<{ key: { id: string }; secret: string }>(owner.api(`/api/keys/${id}/rotate`, {}), 201)
    const body = await read<HistoryBody>(owner.api(`/api/keys/${id}/history`))
    expect(body.history).toMatchObject([
      { action: 'rotate', by: 'owner', settings: [], successor: made.key.id },
      { action: 'change', by: 'owner', settings: ['spending_limit', 'allowed_ips'] },
      { action: 'create', by: 'owner', settings: ['name', 'spending_limit'] },
    ])
    expect(JSON.stringify(body)).not.toContain(made.secret)
    const first = await read<HistoryBody>(owner.api(`/api/keys/${id}/history?limit=2`))
    const rest = await read<HistoryBody>(owner.api(`/api/keys/${id}/history?limit=2&cursor=${first.next_cursor}`))
    expect([...first.history, ...rest.history]).toEqual([...body.history])
    expect(rest.next_cursor).toBeNull()
  })

  test('of another account is not found', async () => {
    const other = await gateway.owner()
    expect((await other.api(`/api/keys/${ids.get('beta')}/history`)).status).toBe(404)
  })
})
