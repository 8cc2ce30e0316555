import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Harness, openHarness } from '../../support/harness'
import { type AccountBody, auditRows, closeReconciled, type Owner, read, refusalOf } from '../owner-bench'

let gateway: Harness
let first: Owner
let second: Owner

beforeAll(async () => {
  gateway = await openHarness({ env: { HOST: '0.0.0.0' } })
  first = await gateway.owner()
  second = await gateway.owner()
})
afterAll(() => closeReconciled(gateway))

const claim = (owner: Owner, body: unknown) => owner.api('/api/account/operator', body)
const isOperator = async (owner: Owner) => (await read<AccountBody>(owner.api('/api/account'))).operator

/** Where strangers can reach the host, the first sign-up does not own the place (spec D4). */
describe('on a host that others can reach,', () => {
  test('the first account is not an operator', async () => {
    expect(await isOperator(first)).toBe(false)
  })

  test('nothing can be claimed before a token was printed', async () => {
    expect(await refusalOf(claim(first, { token: '' }))).toMatchObject({ status: 403 })
  })

  test('a wrong token is refused, and the right one still works afterwards, once', async () => {
    const token = gateway.gateway.setupToken.issue()
    const wrong: unknown[] = [
      { token: `${token.slice(1)}x` },
      { token: token.slice(1) },
      { token: `${token} ` },
      { token: [token] },
      { token: null },
      {},
      null,
      [token],
      undefined,
    ]
    for (const body of wrong)
      expect(await refusalOf(first.api('/api/account/operator', body, 'POST'))).toMatchObject({
        status: 403,
        code: 'insufficient_permissions',
      })
    expect(await isOperator(first)).toBe(false)

    expect(await read<unknown>(claim(first, { token }))).toEqual({ operator: true })
    expect(await isOperator(first)).toBe(true)
    expect(await refusalOf(claim(second, { token }))).toMatchObject({ status: 403, code: 'insufficient_permissions' })
    expect(await refusalOf(claim(first, { token }))).toMatchObject({ status: 403 })
    expect(await isOperator(second)).toBe(false)
  })

  test('of many concurrent claims with the right token one succeeds', async () => {
    const token = gateway.gateway.setupToken.issue()
    const answers = await Promise.all([first, second, first, second].map((owner) => claim(owner, { token })))
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, 403, 403, 403])
  })

  test('a claim is in the audit log, without the token', async () => {
    const rows = (await auditRows(gateway)).filter((row) => row.action === 'account.operator')
    expect(rows[0]).toMatchObject({ actor_kind: 'owner', address: '127.0.0.1', key_id: null })
    expect(rows[0]?.detail).toBe('{"operator":true}')
  })
})
