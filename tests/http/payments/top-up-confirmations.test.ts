import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { topUpRecord } from '../../../server/http/billing/record'
import { startTopUpChecks } from '../../../server/jobs/money-checks'
import { openLog } from '../../../server/log'
import { openEvmSandbox } from '../../support/evm/evm-sandbox'
import type { Harness } from '../../support/harness'
import { openPayable } from '../../support/payments/payable-harness'
import { endAndReconcile } from '../wire'

const PATH = '/v1/wallet/topups'

describe('a top-up counts when its network has confirmed it', () => {
  let sandbox: Awaited<ReturnType<typeof openEvmSandbox>>
  let gateway: Harness
  beforeAll(async () => {
    sandbox = await openEvmSandbox()
    // A block for each transaction, and none by itself.
    await sandbox.ask('evm_setAutomine', [true])
    gateway = await openPayable(sandbox, { PAYMENTS_CONFIRMATIONS: '3' })
  })
  afterAll(async () => {
    await endAndReconcile(gateway)
    await sandbox.close()
  })

  const payer = async () => {
    const account = await gateway.account(0, null)
    const key = await gateway.key(account)
    const ask = (more: Record<string, string> = {}) =>
      gateway.call(PATH, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key.secret}`, ...more },
        body: '{"amount":"10.00"}',
      })
    const credential = await sandbox.payer().createCredential(await ask())
    const balance = async () => {
      const { paid, toppedUp } = (await gateway.core.ledger.balance(account.id)) ?? {}
      return [Number(paid), Number(toppedUp)]
    }
    const listed = async () => {
      const filter = { account: account.id, purpose: 'top_up', state: null } as const
      const page = await gateway.core.stores.paymentClaims.list(filter, 10, null)
      return page?.rows.map((claim) => topUpRecord(claim).state)
    }
    return { pay: async () => (await ask({ 'payment-authorization': credential })).status, balance, listed }
  }
  const job = async (ahead = 100_000) => {
    gateway.clock.advance(ahead)
    const { rail, topUps } = gateway.gateway
    await rail.payments.finishOpen((claim) => topUps.creditFinal(rail.payments, claim))
    gateway.clock.advance(-ahead)
  }
  const mine = (blocks: number) => sandbox.ask('anvil_mine', [`0x${blocks.toString(16)}`])

  test('until then it is pending, to its payer and in the list, and the same credential pays it once', async () => {
    const { pay, balance, listed } = await payer()
    expect([await pay(), await balance(), await listed()]).toEqual([503, [0, 0], ['pending']])
    await job()
    expect([await pay(), await balance(), await listed()]).toEqual([503, [0, 0], ['pending']])
    await mine(2)
    expect([await pay(), await balance(), await listed()]).toEqual([201, [10_000_000, 10_000_000], ['paid']])
    expect([await pay(), await balance()]).toEqual([200, [10_000_000, 10_000_000]])
  })

  test('a job books it without another request', async () => {
    const { pay, balance, listed } = await payer()
    expect(await pay()).toBe(503)
    await mine(2)
    await job()
    expect([await balance(), await listed()]).toEqual([[10_000_000, 10_000_000], ['paid']])
  })

  test('a reorganisation reverses a booked top-up by an entry; an unbooked one is never booked', async () => {
    const log: string[] = []
    const { rail, topUps } = gateway.gateway
    const parts = { methods: rail.lasting, claims: gateway.core.stores.paymentClaims, clock: gateway.clock }
    const checks = startTopUpChecks(
      parts,
      topUps,
      openLog('info', (line) => log.push(line)),
    )
    const before = await sandbox.ask('evm_snapshot', [])
    const [booked, waiting, cutOff] = [await payer(), await payer(), await payer()]
    await booked.pay()
    expect(await cutOff.pay()).toBe(503)
    await mine(2)
    // Booked by a process that dies before it has said so.
    const { paymentClaims } = gateway.core.stores
    const served = paymentClaims.served.bind(paymentClaims)
    paymentClaims.served = () => Promise.reject(new Error('the process is gone'))
    await job()
    paymentClaims.served = served
    expect([await cutOff.balance(), await cutOff.listed()]).toEqual([[10_000_000, 10_000_000], ['pending']])
    expect([await booked.pay(), await waiting.pay()]).toEqual([201, 503])
    await checks.run()
    expect([await booked.balance(), log]).toEqual([[10_000_000, 10_000_000], []])

    expect(Boolean(await sandbox.ask('evm_revert', [before]))).toBe(true)
    await checks.run()
    // It may come again: the authorizations are good for some minutes.
    expect([await booked.balance(), log]).toEqual([[10_000_000, 10_000_000], []])

    await sandbox.ask('evm_increaseTime', [700])
    await mine(1)
    await checks.run()
    // One node may be behind: it is asked twice.
    expect([await booked.balance(), log]).toEqual([[10_000_000, 10_000_000], []])
    await checks.run()
    await checks.run()
    expect([await booked.balance(), await waiting.balance(), log.length]).toEqual([[0, 0], [0, 0], 1])
    expect(log[0]).toContain('a top-up was reverted by its network and taken back from the balance')
    // Each waits for its own next look.
    await job(1_000_000)
    expect([await waiting.balance(), await waiting.listed()]).toEqual([[0, 0], ['failed']])
    expect([await cutOff.balance(), await cutOff.listed()]).toEqual([[0, 0], ['failed']])
    await checks.close()
  })
})
