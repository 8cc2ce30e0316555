import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Harness, openHarness } from '../../../support/harness'
import { closeReconciled, keyBench, type MadeKey, type Owner, read, refusalOf } from '../../owner-bench'

const HOUR = 3_600_000

let gateway: Harness
let owner: Owner
let made: MadeKey
beforeAll(async () => {
  gateway = await openHarness()
  owner = await gateway.owner()
  made = await keyBench(owner).create()
})
afterAll(() => closeReconciled(gateway))

const at = (path: string) => path.replace(':id', made.key.id)

describe('a session that signed in more than 12 hours ago', () => {
  test('has to sign in again to create a key; any later, tests/http/api-access.test.ts asks every route', async () => {
    gateway.clock.advance(12 * HOUR)
    await keyBench(owner).create()
    gateway.clock.advance(1)
    expect(await refusalOf(owner.api('/api/keys', { name: 'late' }))).toMatchObject({
      status: 401,
      type: 'authentication_error',
      code: 'recent_sign_in_required',
    })
  })

  test('may still read everything, disable and enable keys, and change their settings', async () => {
    for (const path of ['/api/keys', '/api/account', '/api/usage', '/api/limits', '/api/operator/accounts'])
      await read(owner.api(path))
    const keys = keyBench(owner)
    expect((await keys.move(made.key.id, 'disable')).status).toBe('disabled')
    expect((await keys.move(made.key.id, 'enable')).status).toBe('active')
    await keys.change(made.key.id, { spending_limit: 3 })
    expect((await keys.get(made.key.id)).spending_limit).toBe(3)
  })

  test('continues after signing in again', async () => {
    const answer = await gateway.call('/api/auth/sign-in/email', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: owner.email, password: 'correct horse battery' }),
    })
    const cookie = (answer.headers.getSetCookie()[0] ?? '').split(';')[0] ?? ''
    const again = await gateway.call(at('/api/keys/:id/rotate'), { method: 'POST', headers: { cookie } })
    expect(again.status).toBe(201)
  })
})
