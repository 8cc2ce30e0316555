import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openBackupTarget } from '../../../server/adapters/backup/open-target'
import type { OneRefund, RefundList } from '../../../server/http/operator/customers/customer-record'
import type { AfterRestore } from '../../../server/http/operator/restore/after-restore-record'
import { restoredCopy } from '../../support/databases/restored-copy'
import { type Harness, openHarness } from '../../support/harness'
import { openOperatorConsole } from '../../support/operator-console'
import { openStripeDouble, STRIPE_KEY, type StripeDouble, WEBHOOK_SECRET } from '../../support/payments/stripe-double'
import {
  type AccountBody,
  auditRows,
  callWith,
  closeReconciled,
  keyBench,
  type Owner,
  read,
  refusalOf,
} from '../owner-bench'

let folder: string
let stripe: StripeDouble
let original: Harness
let gateway: Harness
let operatorConsole: ReturnType<typeof openOperatorConsole>
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'after-restore-'))
  stripe = openStripeDouble()
})
afterAll(async () => {
  await operatorConsole.close()
  await closeReconciled(gateway)
  await rm(original.folder, { recursive: true, force: true })
  await stripe.close()
  await rm(folder, { recursive: true, force: true })
})

const usd = (amount: number) => amount * 1_000_000
const open = (more: { folder?: string } = {}) =>
  openHarness({
    running: true,
    env: { STRIPE_SECRET_KEY: STRIPE_KEY, STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET, STRIPE_API_URL: stripe.url },
    ...more,
  })

/** A card payment of 25 USD that is booked. */
async function paid(owner: Owner): Promise<string> {
  const form = { amount: '25.00', method: 'card' }
  const { topup } = await read<{ topup: { id: string } }>(owner.api('/api/topups', form), 201)
  stripe.pay(stripe.newestPage().id)
  const { body, headers } = stripe.message('checkout.session.completed', { id: stripe.newestPage().id })
  expect((await original.call('/api/webhooks/stripe', { method: 'POST', headers, body })).status).toBe(200)
  return topup.id
}

/** Makes a copy of the gateway, and restores it into a folder of its own. */
async function restored(): Promise<string> {
  const target = openBackupTarget(join(folder, 'copies'), { access: null, workFolder: '' })
  const { backups } = original.gateway.backups.commands
  await backups.start({ target, verify: false, keep: null }).result
  const [copy] = await target.copies()
  if (!copy) throw new Error('no copy')
  const into = join(folder, 'restored')
  await mkdir(into)
  await restoredCopy({ target, copy, dataDir: into, now: Date.now() })
  return into
}

const printed = (...words: string[]) => operatorConsole.run(...words)

test('after a restore from an older copy no refund doubles, no payment is lost, and what was stopped since is stopped again', async () => {
  original = await open()
  const operator = await original.owner('root@example.com')
  const owner = await original.owner('customer@example.com')
  const bench = keyBench(owner)
  const [stays, stolen, rotated, paused] = [
    await bench.create(),
    await bench.create(),
    await bench.create(),
    await bench.create(),
  ]
  const spammer = await original.owner('spam@example.com')
  const spammers = (await read<AccountBody>(spammer.api('/api/account'))).id
  const { secret: spam } = await keyBench(spammer).create()
  const first = await paid(owner)
  // Its refund is made at the processor, whose answer is lost: the copy knows it as sent, and no more.
  const second = await paid(owner)
  const customer = (await read<AccountBody>(owner.api('/api/account'))).id
  stripe.setRefunding('lost')
  const lostForm = { payment: second, usd: '5', note: 'Asked by phone' }
  const { refund: sent } = await read<OneRefund>(operator.api(`/api/operator/accounts/${customer}/refunds`, lostForm))
  expect(sent.state).toBe('sent')
  stripe.setRefunding('succeeded')
  const epochs = (harness: Harness) => harness.core.stores.db.all<{ epoch: number }>('SELECT epoch FROM owner')
  const into = await restored()

  // All of this is not in the copy.
  const { id } = await read<AccountBody>(owner.api('/api/account'))
  const refundForm = { payment: first, usd: '10', note: 'Asked by mail' }
  await read(operator.api(`/api/operator/accounts/${id}/refunds`, refundForm))
  await paid(owner)
  await bench.move(stolen.key.id, 'revoke')
  await bench.rotate(rotated.key.id)
  await bench.move(paused.key.id, 'disable')
  await bench.create()
  await read(operator.api(`/api/operator/accounts/${spammers}/suspend`, { reason: 'Spam.' }))
  const [{ epoch: before } = { epoch: 0 }] = await epochs(original)
  await original.close(true)

  gateway = await open({ folder: into })
  operatorConsole = openOperatorConsole(gateway)
  expect(gateway.logged.join('\n')).toContain('after-restore')
  const [{ epoch } = { epoch: 0 }] = await epochs(gateway)
  expect(epoch).toBeGreaterThanOrEqual(before)
  for (const { secret } of [stays, stolen, rotated, paused]) expect(await callWith(gateway, secret)).toBe('200')
  const again = await gateway.signIn('root@example.com')
  const balance = async () => (await gateway.core.ledger.balance(id as `acct_${string}`))?.paid
  expect(await balance()).toBe(usd(45) as never)
  // It goes on under its own id, also once the processor has forgotten the key of that request.
  stripe.forgetKeys()
  await gateway.gateway.cardRefunds?.finish()
  const { refunds: followed } = await read<RefundList>(again.api(`/api/operator/accounts/${id}/refunds`))
  expect(followed).toMatchObject([{ id: sent.id, state: 'succeeded', amount_micros_usd: usd(5) }])

  // The operator does not know that it was refunded, and asks again, under another reference.
  const path = `/api/operator/accounts/${id}/refunds`
  expect((await refusalOf(again.api(path, refundForm))).message).toContain('reconcile')
  expect(stripe.refunds()).toHaveLength(2)

  const listed = await read<AfterRestore>(again.api('/api/operator/after-restore', {}))
  expect(listed).toMatchObject({ applied: false, live_keys: 5, lost: null, restored: { checked_at: null } })
  expect(listed.reconciled?.missing).toMatchObject([{ account: id, amount_micros_usd: usd(25), bookable: true }])
  expect(listed.reconciled?.cards?.differences).toMatchObject([{ what: 'refund', at_processor_micros_usd: usd(10) }])
  expect(await balance()).toBe(usd(45) as never)

  const lost = join(original.folder, 'gateway.db')
  const text = await printed('after-restore', '--lost', lost, '--apply')
  expect(text).toMatch(new RegExp(`${stolen.key.id} +${id} +revoke +yes`))
  expect(text).toMatch(new RegExp(`${spammers} +yes`))
  expect(await balance()).toBe(usd(60) as never)
  const states = await Promise.all([stays, stolen, rotated, paused].map(({ secret }) => callWith(gateway, secret)))
  expect(states).toEqual(['200', '401 invalid_api_key', '401 invalid_api_key', '401 api_key_disabled'])
  expect(await callWith(gateway, spam)).toBe('403 account_suspended')
  expect(await refusalOf(again.api('/api/operator/after-restore'))).toMatchObject({ status: 401 })
  const row = (await auditRows(gateway)).findLast(({ action }) => action === 'books.after_restore')
  expect(row).toMatchObject({ actor_id: 'console' })

  // The rest can be refunded, and no more; the second run finds nothing.
  const operatorAgain = await gateway.signIn('root@example.com')
  const rest = await read<OneRefund>(operatorAgain.api(path, { payment: first, note: 'The rest' }))
  expect(rest.refund.amount_micros_usd).toBe(usd(15))
  const repeated = JSON.parse(await printed('after-restore', '--lost', lost, '--apply', '--json')) as AfterRestore
  expect(repeated.reconciled).toMatchObject({ problems: 0, booked: 0, corrected: 0 })
  expect(repeated.restored.checked_at).not.toBeNull()
  expect(await balance()).toBe(usd(45) as never)
  expect(stripe.refunds().map(({ amount }) => amount)).toEqual([500, 1000, 1500])
})

test('without the lost database all keys can be disabled; a file that is no database, and data that was never restored, are refused', async () => {
  await expect(printed('after-restore', '--lost', join(folder, 'none.db'))).rejects.toThrow('There is no database')
  await expect(printed('after-restore', '--lost', import.meta.path)).rejects.toThrow('cannot be read')
  const { live_keys: live } = JSON.parse(await printed('after-restore', '--json')) as AfterRestore
  expect(live).toBe(2)
  expect(await printed('after-restore', '--disable-keys', '--apply')).toMatch(/^disabled keys +2$/m)
  const { live_keys: left } = JSON.parse(await printed('after-restore', '--json')) as AfterRestore
  expect(left).toBe(0)
  const fresh = await openHarness()
  const answer = await fresh.control('/after-restore', {})
  expect(JSON.stringify(await answer.json())).toContain('was not restored')
  await fresh.close()
})
