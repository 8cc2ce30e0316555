import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import type {
  OneOperatorAccount,
  OperatorAccountPage,
  OperatorPrices,
  SetOperatorPrice,
} from '../../../server/http/operator/record'
import { copyRow } from '../../support/databases/database-file'
import { type Harness, openHarness } from '../../support/harness'
import {
  type AccountBody,
  auditRows,
  callWith,
  closeReconciled,
  IMAGES,
  keyBench,
  type MadeKey,
  type Owner,
  read,
} from '../owner-bench'

interface Refusal {
  readonly code: string
  readonly message: string
  readonly details?: readonly { readonly param: string; readonly rule: string }[]
}

let gateway: Harness
let ada: Owner
let bob: Owner
let adaId: string
let bobId: string
let adaKey: MadeKey
let bobKey: MadeKey

beforeAll(async () => {
  gateway = await openHarness()
  ada = await gateway.owner('ada@example.com')
  bob = await gateway.owner('bob@example.com')
  adaId = (await accountOf(ada)).id
  bobId = (await accountOf(bob)).id
  adaKey = await keyBench(ada).create()
  bobKey = await keyBench(bob).create()
})
afterAll(() => closeReconciled(gateway))

const accountOf = (owner: Owner) => read<AccountBody>(owner.api('/api/account'))

const send = (path: string, body?: unknown) => gateway.control(path, body)
const command = <T>(path: string, body?: unknown) => read<T>(send(path, body))
async function refused(path: string, body?: unknown) {
  const answer = await send(path, body)
  const { error } = (await answer.json()) as { error: Refusal }
  return { status: answer.status, ...error }
}

async function newRows(act: () => Promise<unknown>) {
  const before = (await auditRows(gateway)).length
  await act()
  return (await auditRows(gateway)).slice(before)
}
/** As if the reader of the address had opened the link of a mail. */
function confirm(email: string) {
  return gateway.core.stores.db.run(sql`UPDATE identity_user SET email_verified = 1 WHERE email = ${email}`)
}
const CONSOLE = { actor_kind: 'operator', actor_id: 'console', address: null, key_id: null }

describe('list', () => {
  test('lists every account, newest first, and every price', async () => {
    const { accounts } = await command<OperatorAccountPage>('/accounts')
    const free = {
      tier: 'free' as const,
      limits: { rpm: 60, tpm: 60_000, concurrency: 5 },
      most_keys: 1000,
      balance_usd: '2',
      suspension: null,
    }
    const created_at = new Date(gateway.clock.now()).toISOString()
    expect(accounts).toEqual([
      { id: bobId, email: 'bob@example.com', name: 'Ada', operator: false, role: null, ...free, created_at },
      { id: adaId, email: 'ada@example.com', name: 'Ada', operator: true, role: 'operator', ...free, created_at },
    ])
    expect((await command<OperatorPrices>('/prices')).prices).toEqual([])
  })
})

describe('grant', () => {
  test('adds credit that pays for the next call, and leaves an audit row', async () => {
    const body = { usd: '25.5', note: 'Sorry for the outage', reference: 'outage-1' }
    const rows = await newRows(async () => {
      expect(await command<OneOperatorAccount>(`/accounts/${bobId}/grants`, body)).toMatchObject({
        account: { id: bobId, balance_usd: '27.5' },
      })
    })
    expect(await accountOf(bob)).toMatchObject({ credit_micros_usd: 27_500_000, topped_up_micros_usd: 0, tier: 'free' })
    expect(rows).toMatchObject([{ ...CONSOLE, account_id: bobId, action: 'account.grant' }])
    expect(JSON.parse(rows[0]?.detail ?? '')).toEqual({
      amount: 25_500_000,
      note: 'Sorry for the outage',
      reference: 'outage-1',
    })
    expect(await callWith(gateway, bobKey.secret)).toBe('200')
  })

  test('books a reference once, also when it is sent ten times at once, to whatever account', async () => {
    const before = (await accountOf(bob)).balance_micros_usd
    const rows = await newRows(async () => {
      const answers = await Promise.all(
        Array.from({ length: 10 }, () => send(`/accounts/${bobId}/grants`, { usd: '1', reference: 'once' })),
      )
      expect(answers.map((answer) => answer.status).sort()).toEqual([200, ...Array.from({ length: 9 }, () => 409)])
      expect(await refused(`/accounts/${adaId}/grants`, { usd: '1', reference: 'once' })).toMatchObject({
        status: 409,
        code: 'invalid_state',
      })
    })
    expect((await accountOf(bob)).balance_micros_usd).toBe(before + 1_000_000)
    expect(rows).toHaveLength(1)
  })

  test('without a reference is a new grant each time', async () => {
    const before = (await accountOf(bob)).balance_micros_usd
    await command(`/accounts/${bobId}/grants`, { usd: '1' })
    await command(`/accounts/${bobId}/grants`, { usd: '1' })
    expect((await accountOf(bob)).balance_micros_usd).toBe(before + 2_000_000)
  })

  test('accepts a confirmed email address in any letter case; for an unconfirmed one it names the id to use', async () => {
    const before = (await accountOf(bob)).balance_micros_usd
    const squatted = '/accounts/BOB@example.com/grants'
    for (const [path, body] of [
      [squatted, { usd: '0.000001' }],
      ['/accounts/bob@example.com/limits', { limits: null }],
      ['/accounts/bob@example.com/usage', undefined],
      ['/prices', { operation: 'image-search', usd: '1', account: 'bob@example.com' }],
      ['/accounts/bob@example.com/reset-link', {}],
    ] as const) {
      const refusal = await refused(path, body)
      expect(refusal).toMatchObject({ status: 400, code: 'invalid_parameter' })
      expect(refusal.message).toContain(bobId)
    }
    expect((await accountOf(bob)).balance_micros_usd).toBe(before)
    await confirm('bob@example.com')
    expect(
      await command<OneOperatorAccount>(encodeURI(squatted).replace('@', '%40'), { usd: '0.000001' }),
    ).toMatchObject({ account: { id: bobId } })
  })

  test('finds an account that is older than a thousand others', async () => {
    const old = await gateway.owner('old@example.com')
    const { id: newer } = await gateway.account(0, null)
    const id = `'${newer.slice(0, 20)}' || printf('%017x', i)`
    const changed = { id, account_id: id, user_id: 'user_id || i', credit: '0' }
    for (const [table, column] of Object.entries({ accounts: 'id', account_directory: 'account_id' }))
      await copyRow(gateway.databaseFile, { table, where: `${column} = '${newer}'`, copies: 1_000, changed })
    await confirm('old@example.com')
    const { id: oldest } = await accountOf(old)
    expect(await command<OneOperatorAccount>('/accounts/old@example.com/grants', { usd: '1' })).toMatchObject({
      account: { id: oldest },
    })
    expect(await command('/accounts?search=old@example')).toMatchObject({ accounts: [{ id: oldest }] })
  })

  test.each([['0'], ['-1'], ['1.0000001'], ['1e3'], ['much'], [5], [null], [undefined]])(
    'of %j USD is refused and books nothing',
    async (usd) => {
      const before = (await accountOf(bob)).balance_micros_usd
      expect(await refused(`/accounts/${bobId}/grants`, { usd })).toMatchObject({
        status: 400,
        code: usd === undefined ? 'missing_parameter' : 'invalid_parameter',
        param: 'usd',
      })
      expect((await accountOf(bob)).balance_micros_usd).toBe(before)
    },
  )
})

describe('a note or a reference', () => {
  test.each([{ note: { text: 'hi' } }, { reference: 7 }, { note: null }])(
    'is refused unless it is text: %j',
    async (more) => {
      expect(await refused(`/accounts/${bobId}/grants`, { usd: '1', ...more })).toMatchObject({ status: 400 })
    },
  )
})

describe('a balance', () => {
  test('never exceeds what the ledger can count, even with two grants at once (spec D1)', async () => {
    const { id } = await gateway.account()
    const answers = await Promise.all([1, 2].map(() => send(`/accounts/${id}/grants`, { usd: '9000000000' })))
    expect(answers.map((answer) => answer.status)).toEqual([200, 400])
    const { accounts } = await command<OperatorAccountPage>('/accounts')
    expect(accounts.find((account) => account.id === id)?.balance_usd).toBe('9000000002')
  })
})

describe('limits', () => {
  test('give an account its own limits from the next call on; null resets them', async () => {
    const limits = { rpm: 2, tpm: 10, concurrency: 1 }
    const { secret } = await keyBench(bob).create()
    expect(await callWith(gateway, secret)).toBe('200')
    const set = await newRows(async () => {
      expect(await command<OneOperatorAccount>(`/accounts/${bobId}/limits`, { limits })).toMatchObject({
        account: { tier: 'enterprise', limits },
      })
    })
    expect((await accountOf(bob)).tier).toBe('enterprise')
    const answer = await gateway.as(secret, '/v1/usage')
    expect(answer.headers.get('x-ratelimit-limit-requests')).toBe('2')
    expect(answer.headers.get('x-ratelimit-remaining-requests')).toBe('0')
    expect(answer.headers.get('x-ratelimit-limit-tokens')).toBe('10')
    expect(answer.headers.get('x-ratelimit-limit-concurrency')).toBe('1')
    expect(await callWith(gateway, secret)).toBe('429 rate_limit_exceeded')
    expect(await callWith(gateway, adaKey.secret)).toBe('200')

    const back = await newRows(() => command(`/accounts/${bobId}/limits`, { limits: null }))
    expect((await accountOf(bob)).tier).toBe('free')
    expect(await callWith(gateway, secret)).toBe('200')
    expect([...set, ...back]).toMatchObject([
      { ...CONSOLE, account_id: bobId, action: 'account.limits', detail: JSON.stringify({ customLimits: limits }) },
      { ...CONSOLE, account_id: bobId, action: 'account.limits', detail: JSON.stringify({ customLimits: null }) },
    ])
  })

  test.each([
    [undefined],
    [5],
    [{}],
    [{ rpm: 1, tpm: 1 }],
    [{ rpm: 0, tpm: 1, concurrency: 1 }],
    [{ rpm: 1.5, tpm: 1, concurrency: 1 }],
    [{ rpm: '1', tpm: 1, concurrency: 1 }],
  ])('refuse %j', async (limits) => {
    expect(await refused(`/accounts/${bobId}/limits`, { limits })).toMatchObject({
      status: 400,
      code: limits === undefined ? 'missing_parameter' : 'invalid_parameter',
      param: 'limits',
    })
    expect((await accountOf(bob)).tier).toBe('free')
  })
})

describe('price', () => {
  const setPrice = (usd: string | null, account?: string) =>
    command<SetOperatorPrice>('/prices', { operation: 'image-search', usd, ...(account && { account }) })
  /** The price of one call now, and its explanation at `/v1/usage/{id}`. */
  async function charged(made: MadeKey) {
    const answer = await gateway.as(made.secret, IMAGES)
    expect(answer.status).toBe(200)
    const id = answer.headers.get('x-gateway-request-id')
    const { charge } = await read<{ charge: Record<string, unknown> }>(gateway.as(made.secret, `/v1/usage/${id}`))
    expect(charge['charged_micros_usd']).toBe(Number(answer.headers.get('x-cost-micros-usd')))
    return charge
  }

  test("is the account's, else the operator's for all, else the catalog's, from the next call on", async () => {
    expect(await charged(bobKey)).toMatchObject({ price_version: '2.0.0', charged_micros_usd: 5_000 })

    const everybody = await setPrice('0.004')
    expect(everybody).toEqual({
      operation: 'image-search',
      account: null,
      usd: '0.004',
      version: expect.stringMatching(/^price_/),
      at: new Date(gateway.clock.now()).toISOString(),
      now_usd: '0.004',
    })
    expect(await charged(bobKey)).toMatchObject({ price_version: everybody.version, charged_micros_usd: 4_000 })
    expect(await charged(adaKey)).toMatchObject({ price_version: everybody.version, charged_micros_usd: 4_000 })

    const bobs = await setPrice('0.123456', 'bob@example.com')
    expect(bobs.account).toBe(bobId)
    expect(await charged(bobKey)).toEqual({
      currency: 'USD',
      price_version: bobs.version,
      inputs: {
        unit: 'request',
        units: 1,
        unit_price_micros_usd: 123_456,
        lines: [{ item: 'request', units: 1, unit_price_micros_usd: 123_456, per: 1 }],
      },
      arithmetic: '1 request x 0.123456 USD = 0.123456 USD',
      charged_micros_usd: 123_456,
    })
    expect(await charged(adaKey)).toMatchObject({ charged_micros_usd: 4_000 })

    await setPrice(null, bobId)
    expect(await charged(bobKey)).toMatchObject({ price_version: everybody.version, charged_micros_usd: 4_000 })
    await setPrice(null)
    expect(await charged(bobKey)).toMatchObject({ price_version: '2.0.0', charged_micros_usd: 5_000 })
  })

  test("of one operation does not change another's", async () => {
    await setPrice('0.001')
    const answer = await gateway.as(bobKey.secret, '/apis/v1/websearch/llm/context?q=card')
    expect(answer.headers.get('x-cost-micros-usd')).toBe('5000')
    await setPrice(null)
  })

  test('is what a quote and a 402 say', async () => {
    await setPrice('0.25')
    const quote = await gateway.as(bobKey.secret, IMAGES, { headers: { 'x-cost-mode': 'quote' } })
    expect(await read<unknown>(quote)).toMatchObject({ quote: { price: { amount: '0.25' }, cost_micros_usd: 250_000 } })
    const answer = await read<unknown>(gateway.call(IMAGES), 402)
    expect(answer).toMatchObject({ error: { price: { mode: 'fixed', currency: 'USD', amount: '0.25' } } })
    await setPrice(null)
  })

  test('of 0 makes a call free, and it is still logged', async () => {
    await setPrice('0', bobId)
    const before = (await accountOf(bob)).balance_micros_usd
    expect(await charged(bobKey)).toMatchObject({ charged_micros_usd: 0, arithmetic: '1 request x 0 USD = 0 USD' })
    expect((await accountOf(bob)).balance_micros_usd).toBe(before)
    await setPrice(null, bobId)
  })

  test('leaves an audit row and is listed with its version', async () => {
    const set: SetOperatorPrice[] = []
    const rows = await newRows(async () => {
      set.push(await setPrice('0.007', bobId))
    })
    expect(rows).toMatchObject([
      {
        ...CONSOLE,
        account_id: bobId,
        action: 'price.set',
        detail: JSON.stringify({ operation: 'image-search', amount: 7_000 }),
      },
    ])
    const { prices } = await command<OperatorPrices>('/prices')
    expect(set).toMatchObject([{ operation: 'image-search', account: bobId, usd: '0.007' }])
    expect(prices).toEqual(expect.arrayContaining(set.map(({ now_usd: _, ...listed }) => listed)))
    await setPrice(null, bobId)
  })

  test.each([
    [{ operation: 'gold', usd: '1' }, 400],
    [{ operation: 'toString', usd: '1' }, 400],
    [{ usd: '1' }, 400],
    [{ operation: 'image-search' }, 400],
    [{ operation: 'image-search', usd: 1 }, 400],
    [{ operation: 'image-search', usd: '-1' }, 400],
    [{ operation: 'image-search', usd: '0.0000001' }, 400],
    [{ operation: 'image-search', usd: '1', account: 'nobody@example.com' }, 404],
  ])('refuses %j', async (body, status) => {
    const rows = await newRows(async () => expect((await refused('/prices', body)).status).toBe(status))
    expect(rows).toEqual([])
  })
})

describe('the control socket', () => {
  test.each([
    ['grants', { usd: '1' }],
    ['limits', { limits: null }],
    ['max-keys', { keys: 5 }],
    ['reset-link', {}],
    ['usage', undefined],
  ])('%s refuses an unknown id and an unknown email address', async (act, body) => {
    for (const account of ['acct_0', 'nobody@example.com'])
      expect(await refused(`/accounts/${account}/${act}`, body)).toMatchObject({
        status: 404,
        code: 'resource_not_found',
      })
  })

  test('refuses names that every JavaScript object has, and lists at most 100 of a thousand errors', async () => {
    const sendText = (act: string, body: string) => {
      const headers = { 'content-type': 'application/json' }
      const url = `http://gateway/api/operator/accounts/${bobId}/${act}`
      return gateway.gateway.control(new Request(url, { method: 'POST', headers, body }))
    }
    const rows = await newRows(async () => {
      for (const name of ['__proto__', 'constructor', 'toString'])
        for (const [act, body] of [
          ['grants', `{"usd":"1","${name}":{"usd":"9"}}`],
          ['grants', `{"${name}":{"usd":"9"}}`],
          ['limits', `{"limits":{"rpm":1,"tpm":1,"concurrency":1,"${name}":1}}`],
        ] as const)
          expect([name, body, (await sendText(act, body)).status]).toEqual([name, body, 400])
    })
    expect(rows).toEqual([])
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`${i}${'x'.repeat(200)}`, 'y'.repeat(200)]))
    const answer = await (await sendText('grants', JSON.stringify(many))).text()
    expect((JSON.parse(answer) as { error: Refusal }).error.details).toHaveLength(100)
    expect(answer.length).toBeLessThan(40_000)
  })

  test.each([['/obliterate'], ['/toString'], ['/__proto__'], ['/prices/more']])('has no route %s', async (path) => {
    expect(await refused(path)).toMatchObject({ status: 404, code: 'unknown_endpoint' })
  })

  test('reads a missing body as an empty one, and refuses one that is no object', async () => {
    const path = `/accounts/${bobId}/limits`
    const request = new Request(`http://gateway/api/operator${path}`, { method: 'POST' })
    expect((await gateway.gateway.control(request)).status).toBe(400)
    for (const body of [[], null, 'text', 7])
      expect(await refused(path, body)).toMatchObject({ status: 400, param: 'body' })
  })
})

test('publish says for each directory why this gateway on loopback is not listed, and gives server.json', async () => {
  const { directories, server_json } = (await (await send('/publication')).json()) as {
    directories: { directory: string; lists: string[]; problems: string[] }[]
    server_json: object
  }
  expect(directories.length).toBe(4)
  for (const { lists, problems } of directories) expect([lists, problems.length > 0]).toEqual([[], true])
  expect(await (await gateway.call('/.well-known/mcp/server.json')).json()).toEqual(server_json)
})
