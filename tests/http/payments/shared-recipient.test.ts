import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { openEvmSandbox } from '../../support/evm/evm-sandbox'
import type { Harness } from '../../support/harness'
import { moneyMoved } from '../../support/payments/money-moved'
import { openPayable } from '../../support/payments/payable-harness'
import { MERCHANT } from '../../support/payments/payment-sandbox'
import { endAndReconcile } from '../wire'

const PATH = '/v1/wallet/topups'
const TEN = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"amount":"10.00"}' }

describe('two gateways with one payment recipient', () => {
  let sandbox: Awaited<ReturnType<typeof openEvmSandbox>>
  const gateways: Harness[] = []
  beforeAll(async () => {
    sandbox = await openEvmSandbox()
    for (let i = 0; i < 2; i++) {
      const relayer = generatePrivateKey()
      await sandbox.ask('anvil_setBalance', [privateKeyToAccount(relayer).address, '0xde0b6b3a7640000'])
      gateways.push(await openPayable(sandbox, { PAYMENTS_EVM_RELAYER_KEY: relayer }))
    }
  })
  afterAll(async () => {
    for (const gateway of gateways) await endAndReconcile(gateway)
    await sandbox.close()
  })

  const moved = moneyMoved(() => sandbox.balance(MERCHANT))
  const owners = () =>
    Promise.all(
      gateways.map(async (gateway) => {
        const account = await gateway.account(0, null)
        const key = await gateway.key(account)
        return { gateway, account, headers: { ...TEN.headers, authorization: `Bearer ${key.secret}` } }
      }),
    )
  type Owner = Awaited<ReturnType<typeof owners>>[number]
  const topUp = ({ gateway, headers }: Owner, signature?: string) =>
    gateway.call(PATH, { ...TEN, headers: { ...headers, ...(signature && { 'payment-signature': signature }) } })
  const balances = async (all: readonly Owner[]) => {
    const paid = all.map(async ({ gateway, account }) => Number((await gateway.core.ledger.balance(account.id))?.paid))
    return (await Promise.all(paid)).sort((a, b) => a - b)
  }

  test.each(['at once', 'one after the other'])('one transfer of 10 USD is one top-up, %s', async (how) => {
    const all = await owners()
    const [first, second] = all as [Owner, Owner]
    const required = (await topUp(first)).headers.get('payment-required') ?? ''
    const signature = await sandbox.x402Lie(required, {}, () => ({ extensions: undefined }))
    const statuses: number[] = []
    const amount = await moved(async () => {
      if (how === 'at once')
        statuses.push(...(await Promise.all(all.map((one) => topUp(one, signature)))).map(({ status }) => status))
      else for (const one of [second, first]) statuses.push((await topUp(one, signature)).status)
    })
    expect(statuses.sort()).toEqual([201, 402])
    expect([amount, await balances(all)]).toEqual([10_000_000n, [0, 10_000_000]])
    // Nor later, by the job that ends what no try has ended.
    for (const { gateway } of all) {
      gateway.clock.advance(600_000)
      await gateway.gateway.rail.payments.finishOpen(async () => true)
      gateway.clock.advance(-600_000)
    }
    expect(await balances(all)).toEqual([0, 10_000_000])
  })
})
