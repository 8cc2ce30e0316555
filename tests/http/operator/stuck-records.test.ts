import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type AccountId, makeId } from '../../../server/core/ids'
import { ZERO } from '../../../server/core/money'
import type { OneStuck, StuckPage } from '../../../server/http/operator/money/stuck-record'
import { executeOn } from '../../support/databases/database-file'
import { type Harness, openHarness } from '../../support/harness'
import { openOperatorConsole } from '../../support/operator-console'
import { until } from '../../support/until'
import {
  type AccountBody,
  auditRows,
  callWith,
  closeReconciled,
  IMAGES,
  keyBench,
  type Owner,
  read,
  refusalOf,
} from '../owner-bench'

/** A record that the tables refuse. */
let gateway: Harness
let operator: Owner
let operatorConsole: ReturnType<typeof openOperatorConsole>
beforeAll(async () => {
  gateway = await openHarness()
  operator = await gateway.owner('root@example.com')
  operatorConsole = openOperatorConsole(gateway)
})
afterAll(async () => {
  await operatorConsole.close()
  await closeReconciled(gateway)
})

const PATH = '/api/operator/stuck'
const listed = () => read<StuckPage>(operator.api(PATH))

/** Whether the account holds nothing now. */
async function isClosed(account: AccountId): Promise<boolean> {
  const { holds } = gateway.core
  const at = gateway.clock.now()
  const request = makeId('req', at)
  const held = holds.hold({ request, account, pool: null, amount: ZERO, creditPays: true, at })
  if (held.ok) holds.release(request)
  return !held.ok && held.error === 'account_under_review'
}

/** An owner whose last call was served, and whose charge the tables refuse. */
async function stuckOwner() {
  const owner = await gateway.owner()
  const { id, balance_micros_usd: credit } = await read<AccountBody>(owner.api('/api/account'))
  const { secret } = await keyBench(owner).create()
  const setCredit = (to: number) =>
    executeOn(gateway.databaseFile, 'UPDATE accounts SET credit = ? WHERE id = ?', [to, id])
  await setCredit(0)
  expect(await callWith(gateway, secret)).toBe('200')
  await gateway.core.stores.applied()
  await until(() => isClosed(id as AccountId))
  await setCredit(credit)
  const record = (await listed()).records.find(({ account }) => account === id) as OneStuck
  return { owner, id, secret, record, credit }
}

test('an account with a stuck charge gets a clear 503 that names no other account, and the operator books it', async () => {
  const { owner, id, secret, record, credit } = await stuckOwner()
  const refused = await gateway.as(secret, IMAGES)
  expect(refused.headers.get('retry-after')).toBe('60')
  expect(await refusalOf(refused)).toMatchObject({ status: 503, type: 'api_error', code: 'account_under_review' })
  const stranger = await gateway.key(await gateway.account())
  expect(await callWith(gateway, stranger.secret)).toBe('200')
  expect(record).toMatchObject({
    account: id,
    operation: 'image-search',
    kind: 'charge',
    amount_micros_usd: 5000,
    due: true,
  })
  expect(await read<OneStuck>(operator.api(`${PATH}/${record.id}`))).toEqual(record)
  expect(await gateway.readiness()).toMatchObject({
    status: 'ready',
    warnings: { stuck: '1 stuck records close 1 accounts: see gateway operator stuck list' },
  })
  for (const [path, method] of [
    [PATH, 'GET'],
    [`${PATH}/${record.id}`, 'GET'],
    [`${PATH}/${record.id}/retry`, 'POST'],
  ] as const)
    expect((await owner.api(path, method === 'POST' ? {} : undefined, method)).status).toBe(403)
  expect(await read<OneStuck>(operator.api(`${PATH}/${record.id}/retry`, {}))).toEqual(record)
  expect((await listed()).records).toEqual([])
  expect((await gateway.readiness()).warnings).toEqual({})
  expect(await callWith(gateway, secret)).toBe('200')
  const { balance_micros_usd: left } = await read<AccountBody>(owner.api('/api/account'))
  expect(left).toBe(credit - 10_000)
})

test('an operator gives a stuck charge up over the command line, with a reason that the audit log keeps', async () => {
  const { id, secret, record, owner, credit } = await stuckOwner()
  const { run } = operatorConsole
  expect(await run('stuck', 'list')).toMatch(new RegExp(`${record.id} .*${id} +charge +0\\.005 +yes`))
  expect(await run('stuck', 'show', record.id)).toMatch(new RegExp(`^request id +${record.request_id}$`, 'm'))
  expect(await run('stuck', 'discard', record.id, '--note', 'A repair of the tables.')).toContain(record.id)
  expect(await run('stuck', 'list')).toBe('No records.\n')
  expect(await callWith(gateway, secret)).toBe('200')
  const { balance_micros_usd: left } = await read<AccountBody>(owner.api('/api/account'))
  expect(left).toBe(credit - 5000)
  const row = (await auditRows(gateway)).find(({ action }) => action === 'stuck.discard')
  expect(row).toMatchObject({ actor_kind: 'operator', account_id: id })
  expect(JSON.parse(row?.detail ?? '')).toMatchObject({ id: record.id, amount: 5000, note: 'A repair of the tables.' })
})

test('a stuck record that does not exist is not found, and a discard needs a reason', async () => {
  expect(await refusalOf(operator.api(`${PATH}/stuck_x`))).toMatchObject({ status: 404, code: 'resource_not_found' })
  expect(await refusalOf(operator.api(`${PATH}/stuck_x/discard`, {}))).toMatchObject({ code: 'missing_parameter' })
  expect(await refusalOf(operator.api(`${PATH}/stuck_x/retry`, {}))).toMatchObject({ status: 404 })
})
