import { afterAll, afterEach, beforeAll, describe, expect, spyOn, test } from 'bun:test'
import type { OperatorAccount, OperatorAccountPage } from '../../../../server/http/operator/record'
import { openTwoCells } from '../../../support/cluster/two-cells'
import { openOperatorConsole } from '../../../support/operator-console'
import {
  type AccountBody,
  auditRows,
  callWith,
  closeReconciled,
  keyBench,
  type Owner,
  read,
  refusalOf,
} from '../../owner-bench'

type Cells = Awaited<ReturnType<typeof openTwoCells>>

let cells: Cells
let operator: Owner
let support: Owner
let here: Owner
let there: Owner
let thereId: string
let operatorConsole: ReturnType<typeof openOperatorConsole>
beforeAll(async () => {
  cells = await openTwoCells()
  const { main, other } = cells
  operator = await main.owner('root@example.com')
  support = await main.owner('support@example.com')
  here = await main.owner('here@example.com')
  // The first account of a gateway alone is an operator.
  await other.owner('nobody@example.com')
  there = await other.owner('there@example.com')
  thereId = await idOf(there)
  await read(operator.api(`/api/operator/accounts/${await idOf(support)}/role`, { role: 'support' }))
  operatorConsole = openOperatorConsole(main)
})
afterEach(() => {
  cells.silent.clear()
  cells.asked.length = 0
})
afterAll(async () => {
  await operatorConsole.close()
  await closeReconciled(cells.main)
  await closeReconciled(cells.other)
})

const idOf = async (owner: Owner) => (await read<AccountBody>(owner.api('/api/account'))).id
const at = (path: string) => `/api/operator/accounts/${thereId}${path}`

describe('an operator whose session is in main', () => {
  test('sees and changes an account of another cell, which records who did it', async () => {
    const shown = await read<{ account: OperatorAccount }>(operator.api(at('')))
    expect(shown.account).toMatchObject({ id: thereId, email: 'there@example.com' })
    const before = (await read<AccountBody>(there.api('/api/account'))).balance_micros_usd
    await read(operator.api(at('/grants'), { usd: '5', note: 'sorry', reference: 'one' }))
    expect((await read<AccountBody>(there.api('/api/account'))).balance_micros_usd).toBe(before + 5_000_000)
    const [grant] = (await auditRows(cells.other)).filter(({ action }) => action === 'account.grant')
    const user = await cells.main.core.accounts.byId((await idOf(operator)) as never)
    expect(grant).toMatchObject({ actor_kind: 'operator', actor_id: user?.userId, account_id: thereId })
    expect(grant?.address).toBe('127.0.0.1')
    expect((await auditRows(cells.main)).some(({ account_id }) => account_id === thereId)).toBe(false)
  })

  test('gets the refusals of that cell unchanged', async () => {
    expect(await refusalOf(operator.api(at('/grants'), { usd: '-5' }))).toMatchObject({
      status: 400,
      code: 'invalid_parameter',
    })
    expect(await refusalOf(operator.api(at('/lift'), { reason: 'x' }))).toMatchObject({ status: 409 })
  })

  test('finds nothing for an account of no cell, and asks no other cell', async () => {
    expect((await operator.api(`/api/operator/accounts/acct_${'0'.repeat(32)}`)).status).toBe(404)
    expect(cells.asked).toEqual([])
  })

  test('an account of main is answered by main alone', async () => {
    await read(operator.api(`/api/operator/accounts/${await idOf(here)}`))
    expect(cells.asked).toEqual([])
  })

  test('a sign-in that is too old for main is too old for the other cell', async () => {
    const { main } = cells
    main.clock.advance(11 * 60_000)
    cells.other.clock.advance(11 * 60_000)
    expect(await refusalOf(operator.api(at('/erase'), { email: 'there@example.com' }))).toMatchObject({
      status: 401,
      code: 'recent_sign_in_required',
    })
    operator = await main.signIn('root@example.com')
  })

  test('a write that another site caused is refused before any cell is asked', async () => {
    const answer = operator.api(at('/grants'), { usd: '5' }, 'POST', { origin: 'https://evil.example' })
    expect(await refusalOf(answer)).toMatchObject({ status: 403, code: 'foreign_origin' })
    expect(cells.asked).toEqual([])
  })

  test('sets a price for an account of another cell, which main keeps', async () => {
    const { main } = cells
    main.core.stores.directory.has = async (id) => id === thereId
    const set = await read(
      operator.api('/api/operator/prices', { operation: 'image-search', usd: '0.5', account: thereId }),
    )
    expect(set).toMatchObject({ account: thereId, usd: '0.5' })
    expect((await auditRows(main)).at(-1)).toMatchObject({ action: 'price.set', account_id: thereId })
  })
})

describe('an operator whose account is in another cell', () => {
  const place = (cell: string) => {
    const { directory } = cells.main.core.stores
    const before = directory.homeOf.bind(directory)
    directory.homeOf = async (user) => {
      const known = await before(user)
      return known && { ...known, cell }
    }
  }
  afterEach(() => {
    cells.stubs.clear()
    place('main')
  })

  test('acts by the role that the directory says, once that cell says that the account is not suspended', async () => {
    place('c2')
    const cookies: (string | null)[] = []
    cells.stubs.set('/api/account', (request) => {
      cookies.push(request.headers.get('cookie'))
      return Response.json({ id: 'acct_of_another_cell', operator: false })
    })
    expect((await operator.api('/api/operator/prices')).status).toBe(200)
    expect((await support.api('/api/operator/prices')).status).toBe(403)
    expect(cookies).toEqual([operator.cookie, support.cookie])
  })

  test('is refused as that cell refuses, and while it does not answer', async () => {
    place('c2')
    const error = { code: 'account_suspended', message: 'This account is suspended: left us.', type: 'x' }
    cells.stubs.set('/api/account', () => Response.json({ error }, { status: 403 }))
    const { code, message } = error
    expect(await refusalOf(operator.api('/api/operator/prices'))).toMatchObject({ status: 403, code, message })
    cells.stubs.set('/api/account', () => new Response('<html>', { status: 502 }))
    expect(await refusalOf(operator.api('/api/operator/prices'))).toMatchObject({ status: 503 })
  })
})

describe('support', () => {
  test('may do in another cell what it may do here, and no more', async () => {
    await read(support.api(at('/suspend'), { reason: 'looks stolen' }))
    expect((await there.api('/api/account')).status).toBe(403)
    await read(support.api(at('/lift'), { reason: 'it was not' }))
    expect(await refusalOf(support.api(at('/grants'), { usd: '5' }))).toMatchObject({
      status: 403,
      code: 'insufficient_permissions',
    })
  })
})

describe('who is no operator', () => {
  test('is refused in main, and no other cell is asked', async () => {
    for (const path of [at(''), '/api/operator/accounts', '/api/operator/audit.csv', '/api/operator/stuck/stuck_1'])
      expect((await here.api(path)).status).toBe(403)
    for (const path of [at(''), '/api/operator/accounts']) expect((await cells.main.call(path)).status).toBe(401)
    expect(cells.asked).toEqual([])
  })

  test('cannot claim to be one by any header that a caller can think of', async () => {
    const claim = {
      userId: 'u',
      accountId: thereId,
      role: 'operator',
      address: '',
      signedInAt: Date.now(),
      secondFactor: true,
    }
    const names = ['x-staff', 'x-gateway-staff', 'x-staff-claim', 'x-gateway-hop', 'x-hopped', 'staff']
    const headers = Object.fromEntries(names.map((name) => [name, JSON.stringify(claim)]))
    for (const { call } of [cells.main, cells.other]) {
      expect((await call('/api/operator/accounts', { headers })).status).toBe(401)
    }
  })

  test('a claim is believed by the routes of operators only, and an unknown role gives no right', async () => {
    const claim = {
      userId: 'u',
      accountId: thereId,
      email: '',
      name: '',
      role: 'operator',
      address: '',
      secondFactor: true,
    }
    const as = (path: string, more: object, init: RequestInit = {}) =>
      cells.other.call(path, { ...init, headers: { [cells.header]: JSON.stringify({ ...claim, ...more }) } })
    const now = cells.other.clock.now()
    expect((await as('/api/operator/accounts', { signedInAt: now })).status).toBe(200)
    expect((await as('/api/operator/accounts', { signedInAt: now, role: 'king' })).status).toBe(403)
    for (const path of ['/api/account', '/api/keys', '/api/audit', '/api/usage'])
      expect((await as(path, { signedInAt: now })).status).toBe(401)
    // Without the time of the sign-in, no change is taken.
    const write = await as(at('/end-sessions'), {}, { method: 'POST' })
    expect(await refusalOf(write)).toMatchObject({ code: 'recent_sign_in_required' })
  })
})

describe('the control socket of main', () => {
  test('runs commands for an account of another cell there, as the console', async () => {
    expect(await operatorConsole.run('grant', thereId, '3', '--note', 'by hand')).toContain('there@example.com')
    const grants = (await auditRows(cells.other)).filter(({ action }) => action === 'account.grant')
    expect(grants.at(-1)).toMatchObject({ actor_kind: 'operator', actor_id: 'console', account_id: thereId })
    expect(cells.asked).toEqual(['c2 grant'])
  })

  test('runs those for an account of main here', async () => {
    await operatorConsole.run('grant', await idOf(here), '3', '--note', 'by hand')
    expect(cells.asked).toEqual([])
  })

  test('lists the accounts of all cells, and says which are missing', async () => {
    expect(await operatorConsole.run('list')).toContain('there@example.com')
    cells.silent.add('c2')
    const answer = await cells.main.control('list')
    expect(answer.headers.get('x-missing-cells')).toBe('c2')
    const page = (await answer.json()) as OperatorAccountPage
    expect(page.accounts.map(({ email }) => email)).not.toContain('there@example.com')
    expect(page).toMatchObject({ missing_cells: ['c2'] })
    // Beside the output, which a program may read.
    const said = spyOn(process.stderr, 'write').mockReturnValue(true)
    const listed = await operatorConsole.run('list')
    const lines = said.mock.calls.map(([text]) => text)
    said.mockRestore()
    expect(lines).toEqual(['incomplete: these cells did not answer: c2\n'])
    expect(listed).not.toContain('incomplete')
  })
})

describe('lists over cells', () => {
  test('have every account once, newest first, however long the pages are', async () => {
    const all: { id: string; email: string | null }[] = []
    for (const limit of [1, 2, 3, 200]) {
      const seen: typeof all = []
      for (let cursor: string | null = ''; cursor !== null; ) {
        const page: OperatorAccountPage = await read(
          operator.api(`/api/operator/accounts?limit=${limit}${cursor && `&cursor=${cursor}`}`),
        )
        seen.push(...page.accounts)
        cursor = page.next_cursor
      }
      expect(seen.map(({ email }) => email).sort()).toEqual(
        ['here', 'nobody', 'root', 'support', 'there'].map((name) => `${name}@example.com`),
      )
      expect(seen.map(({ id }) => id)).toEqual(
        seen
          .map(({ id }) => id)
          .sort()
          .reverse(),
      )
    }
  })

  test('find an account of another cell by its owner, a key or a call', async () => {
    const { key, secret } = await keyBench(there).create()
    expect(await callWith(cells.other, secret)).toBe('200')
    const found = async (text: string) =>
      (await read<OperatorAccountPage>(operator.api(`/api/operator/accounts?search=${encodeURIComponent(text)}`)))
        .accounts
    for (const text of ['THERE@', thereId, key.id, secret])
      expect((await found(text)).map(({ id }) => id)).toEqual([thereId])
  })

  test('name a cell that does not answer', async () => {
    cells.silent.add('c2')
    const answer = await operator.api('/api/operator/accounts')
    expect(answer.headers.get('x-missing-cells')).toBe('c2')
    expect(await answer.json()).toMatchObject({ missing_cells: ['c2'] })
    const csv = await operator.api('/api/operator/audit.csv')
    expect(csv.headers.get('x-missing-cells')).toBe('c2')
    expect((await csv.text()).split('\r\n')[0]).toBe('# Incomplete: these cells did not answer: c2')
    cells.silent.add('main')
    expect((await operator.api('/api/operator/accounts')).status).toBe(503)
  })

  test('refuse an invalid cursor as one cell does', async () => {
    expect(await refusalOf(operator.api('/api/operator/accounts?cursor=x'))).toMatchObject({
      status: 400,
      code: 'invalid_parameter',
    })
  })

  test('show the audit log of all cells, newest first, also as files', async () => {
    const { entries } = await read<{ entries: { id: string; account_id: string | null }[] }>(
      operator.api('/api/operator/audit?limit=200'),
    )
    const rows = [...(await auditRows(cells.main)), ...(await auditRows(cells.other))] as unknown as { id: string }[]
    const ids = rows
      .map(({ id }) => id)
      .sort()
      .reverse()
    expect(entries.map(({ id }) => id)).toEqual(ids)
    const lines = (await (await operator.api('/api/operator/audit.jsonl')).text()).trim().split('\n')
    expect(lines.map((line) => JSON.parse(line).id)).toEqual(ids)
    const csv = (await (await operator.api('/api/operator/audit.csv')).text()).trim().split('\r\n')
    expect(csv[0]).toStartWith('time_utc,entry_id,')
    expect(csv.slice(1).map((line) => line.split(',')[1])).toEqual(ids)
  })
})

describe('what is known by an id alone', () => {
  test('is decided by the cell that has it', async () => {
    const { request } = await read<{ request: { id: string } }>(
      there.api('/api/limit-requests', {
        peak_rpm: 999,
        peak_tpm: 1,
        endpoints: ['image-search'],
        use_case: 'We grow by the day, and so do they.',
      }),
      201,
    )
    const pending = await read<{ requests: { id: string }[] }>(operator.api('/api/operator/limit-requests'))
    expect(pending.requests.map(({ id }) => id)).toEqual([request.id])
    await read(operator.api(`/api/operator/limit-requests/${request.id}/approve`, { reason: 'fine' }))
    expect((await auditRows(cells.other)).some(({ action }) => action.startsWith('limit'))).toBe(true)
  })

  test('is not said to be unknown while a cell does not answer', async () => {
    expect((await operator.api('/api/operator/stuck/stuck_1')).status).toBe(404)
    cells.silent.add('c2')
    expect(await refusalOf(operator.api('/api/operator/stuck/stuck_1'))).toMatchObject({
      status: 503,
      code: 'service_unavailable',
      message: 'The cell c2 does not answer. Try again.',
    })
  })
})
