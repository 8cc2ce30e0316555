import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mayDo, ROLES, type Role } from '../../../server/core/accounts/roles'
import { DAY_MS } from '../../../server/core/clock'
import type { InvitationList, WorkspaceList } from '../../../server/http/account/workspace-record'
import { declaredAccess } from '../../../server/http/routing/api-access'
import { oauthApp } from '../../support/agents/oauth'
import { type Harness, openHarness } from '../../support/harness'
import {
  auditRows,
  closeReconciled,
  IMAGES,
  invited,
  joined,
  keyBench,
  membersOf,
  type Owner,
  read,
  refusalOf,
  tokenIn,
} from '../owner-bench'

let gateway: Harness
let owner: Owner
/** One member of each role, in their own browser, which shows the owner's workspace. */
let people: Record<Role, Owner>
let workspace: string

const idOf = async (who: Owner) => (await read<{ id: string }>(who.api('/api/account'))).id

async function removed(by: Owner, email: string, body: object = {}) {
  const { id } = (await membersOf(by)).find((one) => one.email === email)!
  return by.api(`/api/members/${id}/remove`, body)
}

beforeAll(async () => {
  gateway = await openHarness()
  await gateway.owner('operator@example.com')
  owner = await gateway.owner('head@example.com')
  workspace = await idOf(owner)
  people = { owner } as typeof people
  for (const role of ROLES)
    if (role !== 'owner') people[role] = await joined(gateway, owner, role, `${role}@example.com`)
})
afterAll(() => closeReconciled(gateway))

describe('a role', () => {
  test('is refused on every route whose right it lacks, and only there', async () => {
    const routes = gateway.gateway.app.routes.flatMap(({ method, path, hooks }) => {
      const access = path.startsWith('/api/') ? declaredAccess(hooks) : null
      return access?.who === 'owner' && path !== '/api/events' ? [{ method, path, access }] : []
    })
    expect(routes.length).toBeGreaterThan(60)
    for (const role of ROLES)
      for (const { method, path, access } of routes) {
        // These end the session, or act on the caller's own sign-in.
        if (path.startsWith('/api/auth/') || path.includes('/sessions') || path === '/api/settings/close') continue
        const target = path.replace(/:\w+/g, 'nothing')
        const body = method === 'GET' ? undefined : {}
        const answer = await people[role].api(target, body, method)
        const code = answer.ok ? null : Object(Object(await answer.json()).error).code
        const may = access.asked === 'member' || mayDo(role, access.asked)
        const is = { role, method, path, refused: code === 'insufficient_permissions' }
        // A token that is wrong, and payments that only operators see, have the same code.
        if (may && ['/api/account/operator', '/api/payments'].includes(path)) continue
        expect(is).toEqual({ role, method, path, refused: !may })
      }
  })

  test('is what the account says, with its rights, and nobody of a workspace is staff by it', async () => {
    for (const role of ROLES) {
      const account = await read<Record<string, unknown>>(people[role].api('/api/account'))
      expect(account).toMatchObject({ id: workspace, role, email: people[role].email, operator: false })
    }
  })
})

describe('a developer', () => {
  test('sees and changes own keys only: in lists, files, usage, requests, searches and errors', async () => {
    const { developer } = people
    const theirs = await keyBench(owner).create({ name: 'of the owner', tags: ['secret-tag'] })
    const own = await keyBench(developer).create({ name: 'of the developer' })
    const foreign = (await gateway.as(theirs.secret, IMAGES)).headers.get('x-gateway-request-id')!
    const mine = (await gateway.as(own.secret, IMAGES)).headers.get('x-gateway-request-id')!
    const seen = async (path: string) => (await developer.api(path)).text()
    for (const path of [
      '/api/keys',
      '/api/keys.csv',
      '/api/keys/names',
      '/api/limits',
      '/api/social',
      '/api/usage?group_by=key',
    ])
      expect([path, await seen(path)]).toEqual([path, expect.not.stringContaining(theirs.key.id)])
    for (const path of [
      '/api/requests',
      '/api/usage.csv',
      `/api/requests?search=${foreign}`,
      '/api/requests?tag=secret-tag',
    ])
      expect([path, await seen(path)]).toEqual([path, expect.not.stringContaining(foreign)])
    for (const path of ['/api/requests', '/api/usage.csv', `/api/requests?search=${mine}`])
      expect([path, await seen(path)]).toEqual([path, expect.stringContaining(mine)])
    const { totals } = await read<{ totals: { requests: number } }>(developer.api('/api/usage'))
    expect(totals.requests).toBe(1)
    for (const [path, body] of [
      [`/api/requests/${foreign}`],
      [`/api/keys/${theirs.key.id}`],
      [`/api/keys/${theirs.key.id}/history`],
      [`/api/keys/${theirs.key.id}/disable`, {}],
      [`/api/keys/${theirs.key.id}/rotate`, {}],
    ] as const)
      expect([path, (await developer.api(path, body)).status]).toEqual([path, 404])
    expect(await read(developer.api('/api/keys/disable', { ids: [theirs.key.id] }))).toMatchObject({
      results: [{ id: theirs.key.id, disabled: false, error: { code: 'resource_not_found' } }],
    })
    expect((await gateway.as(theirs.secret, IMAGES)).status).toBe(200)
    expect((await gateway.as(own.secret, IMAGES)).status).toBe(200)
    expect(await (await owner.api('/api/keys')).text()).toContain(own.key.id)
  })
})

describe('an invitation', () => {
  test('says what it invites to, is accepted once, by its address only, and then the person sees the workspace', async () => {
    const guest = await gateway.owner('guest@example.com')
    const thief = await gateway.owner('thief@example.com')
    const { link } = await invited(owner, 'Guest@Example.com', 'viewer')
    const token = tokenIn(link)
    expect(token).toHaveLength(43)
    const told = await read(gateway.call('/api/invitations/read', postOf({ token })))
    expect(told).toMatchObject({ email: 'guest@example.com', role: 'viewer' })
    expect((await refusalOf(await thief.api('/api/invitations/accept', { token }))).code).toBe(
      'insufficient_permissions',
    )
    const answers = await Promise.all([1, 2, 3].map(() => guest.api('/api/invitations/accept', { token })))
    expect(answers.map(({ ok }) => ok).toSorted()).toEqual([false, false, true])
    expect(await idOf(guest)).toBe(workspace)
    expect((await refusalOf(await guest.api('/api/invitations/accept', { token }))).code).toBe('resource_not_found')
    await read(removed(owner, guest.email))
  })

  test('is nowhere in the database, and its id accepts nothing', async () => {
    const { link } = await invited(owner, 'stored@example.com', 'viewer')
    const stored = JSON.stringify(await gateway.core.stores.db.all('SELECT * FROM identity_invitation'))
    expect(stored).not.toContain(tokenIn(link))
    const { invitations } = await read<InvitationList>(owner.api('/api/invitations'))
    const { id } = invitations.find(({ email }) => email === 'stored@example.com')!
    const person = await gateway.owner('stored@example.com')
    expect((await refusalOf(await person.api('/api/invitations/accept', { token: id }))).code).toBe(
      'resource_not_found',
    )
    await read(owner.api(`/api/invitations/${encodeURIComponent(id)}`, undefined, 'DELETE'))
    const late = await person.api('/api/invitations/accept', { token: tokenIn(link) })
    expect((await refusalOf(late)).code).toBe('resource_not_found')
  })

  test('that is sent again ends the one before, and none lives longer than seven days', async () => {
    const person = await gateway.owner('twice@example.com')
    const first = await invited(owner, person.email, 'viewer')
    const second = await invited(owner, person.email, 'developer')
    expect((await person.api('/api/invitations/accept', { token: tokenIn(first.link) })).status).toBe(404)
    const { invitations } = await read<InvitationList>(owner.api('/api/invitations'))
    const [open] = invitations.filter(({ email }) => email === person.email)
    const life = Date.parse(open!.expires_at) - Date.parse(open!.created_at)
    expect([open!.role, Math.round(life / DAY_MS)]).toEqual(['developer', 7])
    await read(person.api('/api/invitations/accept', { token: tokenIn(second.link) }))
    await read(removed(owner, person.email))
  })

  test('cannot make an owner, nor be sent by who may not', async () => {
    expect((await owner.api('/api/invitations', { email: 'x@example.com', role: 'owner' })).status).toBe(400)
    for (const role of ['developer', 'billing', 'viewer'] as const)
      expect((await people[role].api('/api/invitations', { email: 'x@example.com', role: 'admin' })).status).toBe(403)
  })
})

describe('a member who leaves', () => {
  test('is refused on the next request, with the apps; the keys are disabled, or go on as another’s', async () => {
    const leaver = await joined(gateway, owner, 'developer')
    const keys = [await keyBench(leaver).create({ name: 'one' }), await keyBench(leaver).create({ name: 'two' })]
    const app = oauthApp(gateway, leaver)
    const { access_token: token } = await app.connect('data:read keys:write', ['/v1', '/apis/v1'])
    expect((await gateway.as(token, IMAGES)).status).toBe(200)
    await read(removed(owner, leaver.email))
    expect((await gateway.as(token, IMAGES)).status).toBe(401)
    expect(await idOf(leaver)).not.toBe(workspace)
    const stale = await leaver.api('/api/keys', undefined, 'GET', { 'x-workspace': workspace })
    expect((await refusalOf(stale)).code).toBe('not_a_member')
    for (const { secret } of keys) expect((await gateway.as(secret, IMAGES)).status).toBe(401)

    const giver = await joined(gateway, owner, 'admin')
    const kept = await keyBench(giver).create({ name: 'kept' })
    const { id: heir } = (await membersOf(owner)).find(({ email }) => email === people.developer.email)!
    await read(removed(giver, giver.email, { keys: 'give', to: heir }))
    expect((await gateway.as(kept.secret, IMAGES)).status).toBe(200)
    expect(await (await people.developer.api('/api/keys')).text()).toContain(kept.key.id)
  })

  test('of many requests at once makes no key that outlives the membership', async () => {
    const leaver = await joined(gateway, owner, 'developer')
    const { id } = (await membersOf(owner)).find(({ email }) => email === leaver.email)!
    const making = Array.from({ length: 8 }, (_, at) => leaver.api('/api/keys', { name: `late ${at}` }))
    const answers = await Promise.all([...making, owner.api(`/api/members/${id}/remove`, {})])
    for (const answer of answers.slice(0, -1)) {
      const { secret } = (await answer.json()) as { secret?: string }
      if (secret !== undefined) expect((await gateway.as(secret, IMAGES)).status).toBe(401)
    }
  })

  test('is never the owner, who hands the workspace over first', async () => {
    const first = await gateway.owner()
    const second = await joined(gateway, first, 'admin')
    expect((await refusalOf(await removed(second, first.email))).code).toBe('invalid_state')
    const { id } = (await membersOf(first)).find(({ email }) => email === second.email)!
    const handed = await idOf(first)
    expect((await second.api(`/api/members/${id}/hand-over`, {})).status).toBe(403)
    await read(first.api(`/api/members/${id}/hand-over`, {}))
    expect((await membersOf(first)).map(({ role }) => role)).toEqual(['admin', 'owner'])
    await read(removed(second, first.email))
    const own = await idOf(first)
    expect(own).not.toBe(handed)
    expect((await membersOf(first)).map(({ role }) => role)).toEqual(['owner'])
    const { workspaces } = await read<WorkspaceList>(second.api('/api/workspaces'))
    expect(workspaces.filter(({ role }) => role === 'owner')).toHaveLength(2)
  })
})

describe('changes of members at the same time', () => {
  test('leave one owner: a workspace is handed over once, and nobody changes or removes the new owner', async () => {
    const first = await gateway.owner()
    const people = [
      await joined(gateway, first, 'admin'),
      await joined(gateway, first, 'admin'),
      await joined(gateway, first, 'admin'),
    ]
    const [second, third, fourth] = await Promise.all(
      people.map(async ({ email }) => (await membersOf(first)).find((one) => one.email === email)!),
    )
    const answers = await Promise.all([
      first.api(`/api/members/${second!.id}/hand-over`, {}),
      first.api(`/api/members/${third!.id}/hand-over`, {}),
      people[2]!.api(`/api/members/${second!.id}`, { role: 'viewer' }, 'PATCH'),
      people[2]!.api(`/api/members/${second!.id}/remove`, {}),
      first.api(`/api/members/${second!.id}`, { role: 'viewer' }, 'PATCH'),
      first.api(`/api/members/${fourth!.id}/remove`, {}),
    ])
    expect(answers.filter(({ status }) => status >= 500)).toEqual([])
    const roles = (await membersOf(people[1]!)).map(({ role }) => role)
    expect(roles.filter((role) => role === 'owner')).toHaveLength(1)
    const handedOver = answers.slice(0, 2).filter(({ status }) => status === 200)
    expect(handedOver.length).toBeLessThanOrEqual(1)
  })
})

describe('a role that changes', () => {
  test('binds the next request; nobody changes the own or the owner’s', async () => {
    const person = await joined(gateway, owner, 'viewer')
    const { id } = (await membersOf(owner)).find(({ email }) => email === person.email)!
    expect((await person.api('/api/keys', { name: 'no' })).status).toBe(403)
    await read(owner.api(`/api/members/${id}`, { role: 'developer' }, 'PATCH'))
    expect((await person.api('/api/keys', { name: 'yes' })).status).toBe(201)
    await read(owner.api(`/api/members/${id}`, { role: 'billing' }, 'PATCH'))
    expect((await person.api('/api/keys', { name: 'no' })).status).toBe(403)
    for (const email of [people.admin.email, owner.email]) {
      const other = (await membersOf(owner)).find((one) => one.email === email)!
      expect((await people.admin.api(`/api/members/${other.id}`, { role: 'viewer' }, 'PATCH')).status).toBe(409)
    }
  })
})

describe('who belongs to several workspaces', () => {
  test('sees the own, switches, and names another for one request; a foreign one is not found', async () => {
    const person = await joined(gateway, owner, 'admin')
    const { workspaces } = await read<WorkspaceList>(person.api('/api/workspaces'))
    expect(workspaces.map(({ role, shown }) => [role, shown])).toEqual([
      ['owner', false],
      ['admin', true],
    ])
    const own = workspaces[0]!.id
    await read(person.api(`/api/workspaces/${own}/show`, {}))
    expect(await idOf(person)).toBe(own)
    const named = await read<{ id: string }>(person.api('/api/account', undefined, 'GET', { 'x-workspace': workspace }))
    expect(named.id).toBe(workspace)
    const stranger = await idOf(await gateway.owner())
    expect((await person.api(`/api/workspaces/${stranger}/show`, {})).status).toBe(404)
    expect((await person.api('/api/account', undefined, 'GET', { 'x-workspace': stranger })).status).toBe(404)
    await read(owner.api('/api/workspaces/shown', { name: 'The <b>Team</b>' }, 'PATCH'))
    const again = await read<WorkspaceList>(person.api('/api/workspaces'))
    expect(again.workspaces[1]!.name).toBe('The <b>Team</b>')
  })

  test('finds each change in the audit log, by its person', async () => {
    const actions = new Set((await auditRows(gateway)).map(({ action }) => action))
    for (const action of ['invite', 'invite_cancel', 'join', 'role', 'remove', 'leave'])
      expect(actions).toContain(`member.${action}`)
    for (const action of ['rename', 'hand_over']) expect(actions).toContain(`workspace.${action}`)
    const { entries } = await read<{ entries: { actor_email: string | null }[] }>(
      people.viewer.api('/api/audit?action=member.role'),
    )
    expect(new Set(entries.map((one) => one.actor_email))).toEqual(new Set([owner.email]))
    const file = await (await owner.api('/api/audit.csv?action=key.create')).text()
    expect(file).toContain(people.developer.email)
  })

  test('closes the own only when nobody else is in it', async () => {
    const first = await gateway.owner()
    const guest = await joined(gateway, first, 'viewer')
    expect((await refusalOf(await first.api('/api/settings/close', { email: first.email }))).code).toBe('invalid_state')
    await read(removed(first, guest.email))
    await read(first.api('/api/settings/close', { email: first.email }))
  })
})

function postOf(body: object): RequestInit {
  return { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
}
