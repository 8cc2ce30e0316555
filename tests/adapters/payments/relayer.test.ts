import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { createClient, type Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { GasPrices } from '../../../server/adapters/payments/mpp/chain/gas-prices'
import { Relayer } from '../../../server/adapters/payments/mpp/chain/relayer'
import { chainOf, transportOf } from '../../../server/adapters/payments/mpp/evm/evm-chain'
import { EVM_CHAIN_ID, openEvmSandbox, RELAYER } from '../../support/evm/evm-sandbox'
import { stranger } from '../../support/payments/payment-sandbox'
import { until } from '../../support/until'

describe('the relayer', () => {
  let sandbox: Awaited<ReturnType<typeof openEvmSandbox>>
  beforeAll(async () => {
    sandbox = await openEvmSandbox()
  })
  beforeEach(() => sandbox.setFault('ok'))
  afterAll(() => sandbox.close())

  const account = privateKeyToAccount(RELAYER.key)
  const relayer = ({ waitMs = 10_000, isDear = (): boolean => false } = {}) => {
    const chain = { rpcUrl: sandbox.nodeUrl, chainId: EVM_CHAIN_ID }
    const client = createClient({ chain: chainOf(chain), transport: transportOf(chain) })
    const gas = new GasPrices(client, account.address, sandbox.options.gas, Date.now)
    const { fees } = gas
    gas.fees = async (limit) => (isDear() ? null : fees.call(gas, limit))
    return new Relayer({ account, chainId: EVM_CHAIN_ID, reads: client, sends: client, gas, waitMs })
  }
  let made = 0
  const call = (to: Hex = stranger().address) => ({
    to,
    data: `0x${(++made).toString(16).padStart(8, '0')}` as Hex,
    gas: 50_000n,
  })
  const count = async () => Number(await sandbox.ask('eth_getTransactionCount', [account.address, 'latest']))

  test('sends a hundred at once, each with its own number, in as many transactions', async () => {
    // The chain of the test may be slow while other tests run, and it holds back some that come while it makes a block.
    const [relaying, before] = [relayer({ waitMs: 50_000 }), await count()]
    const receipts = await Promise.all(Array.from({ length: 100 }, () => relaying.submit(call())))
    expect(receipts.map((receipt) => receipt?.status)).toEqual(Array(100).fill('success'))
    expect(new Set(receipts.map((receipt) => receipt?.transactionHash)).size).toBe(100)
    expect((await count()) - before).toBe(100)
  })

  test('replaces a transaction with a higher bid below the ceiling, or not at all', async () => {
    const chain = { rpcUrl: sandbox.nodeUrl, chainId: EVM_CHAIN_ID }
    const client = createClient({ chain: chainOf(chain), transport: transportOf(chain) })
    const most = 1_000_000_000_000n
    const ceiling = { maxFeePerGas: most, maxCostPerPayment: 10n ** 18n }
    const gas = new GasPrices(client, account.address, ceiling, Date.now)
    const bid = (maxFeePerGas: bigint) => ({ maxFeePerGas, maxPriorityFeePerGas: 1n, isLegacy: false })
    const above = async (fee: bigint) => (await gas.feesAbove(bid(fee), 50_000n))?.maxFeePerGas ?? null
    const low = (most * 8n) / 10n
    expect(await above(low)).toBe((low * 9n) / 8n + 1n)
    for (const fee of [(most * 8n) / 9n + 2n, most]) expect(await above(fee)).toBeNull()
  })

  test('reuses the number of a transaction that the node refused', async () => {
    const [relaying, before] = [relayer(), await count()]
    await relaying.submit(call())
    // Less gas than any transaction needs: the node does not take it.
    await expect(relaying.submit({ ...call(), gas: 20_000n })).rejects.toThrow()
    expect(await relaying.submit(call())).toMatchObject({ status: 'success' })
    expect((await count()) - before).toBe(2)
  })

  test('fills in a number that was lost in transit, so that those after it reach a block', async () => {
    const [relaying, before] = [relayer(), await count()]
    await relaying.submit(call())
    sandbox.setFault('dead for sendings')
    await expect(relaying.submit(call())).rejects.toThrow()
    sandbox.setFault('ok')
    // It waits behind the one that the node never got, until that is sent again.
    expect(await relaying.submit(call())).toMatchObject({ status: 'success' })
    expect((await count()) - before).toBe(3)
  })

  test('bids more for a transaction that the node holds back, while those behind it still wait', async () => {
    const [relaying, before] = [relayer({ waitMs: 9000 }), await count()]
    await relaying.submit(call())
    sandbox.setFault('holds one back')
    const receipts = await Promise.all([relaying.submit(call()), relaying.submit(call())])
    expect(receipts.map((receipt) => receipt?.status)).toEqual(['success', 'success'])
    expect((await count()) - before).toBe(3)
  })

  test('a number that was returned while gas is too dear is used by the next call', async () => {
    let timesDear = 0
    let dear = false
    const isDear = () => {
      if (dear) timesDear++
      return dear
    }
    const relaying = relayer({ waitMs: 6000, isDear })
    await relaying.submit(call())
    const before = await count()
    // Less gas than any transaction needs: the node does not take it, and the other one waits for its number.
    const refused = relaying.submit({ ...call(), gas: 20_000n })
    const behind = relaying.submit(call())
    await expect(refused).rejects.toThrow()
    dear = true
    await until(() => timesDear > 0)
    dear = false
    expect(await relaying.submit(call())).toMatchObject({ status: 'success' })
    expect(await behind).toMatchObject({ status: 'success' })
    expect((await count()) - before).toBe(2)
  })

  test('sends nothing while the transactions of an earlier process are not in a block, and then does', async () => {
    const [before, same] = [await count(), call()]
    await sandbox.ask('evm_setAutomine', [false])
    await sandbox.ask('evm_setIntervalMining', [0])
    const first = relayer().submit(same)
    await sandbox.untilPooled()
    // Long enough for a block that a busy machine makes at once.
    const next = relayer({ waitMs: 2000 })
    expect(await next.relay(same, () => undefined)).toEqual({ kind: 'late' })
    expect(await sandbox.ask('txpool_status', [])).toMatchObject({ pending: '0x1' })
    await sandbox.ask('evm_setAutomine', [true])
    await sandbox.ask('evm_mine', [])
    expect(await first).toMatchObject({ status: 'success' })
    expect(await next.relay(call(), () => undefined)).toMatchObject({ kind: 'mined', receipt: { status: 'success' } })
    expect((await count()) - before).toBe(2)
    await sandbox.ask('evm_setIntervalMining', [1])
  })

  test('uses the same number for the same call', async () => {
    const [relaying, before, same] = [relayer(), await count(), call()]
    await sandbox.ask('evm_setAutomine', [false])
    await sandbox.ask('evm_setIntervalMining', [0])
    const both = [relaying.submit(same)]
    await sandbox.untilPooled()
    both.push(relaying.submit(same))
    const mined = sandbox.ask('evm_setAutomine', [true]).then(() => sandbox.ask('evm_mine', []))
    const [first, second] = await Promise.all(both)
    await mined
    expect(first?.transactionHash).toBe(second?.transactionHash as Hex)
    expect((await count()) - before).toBe(1)
  })
})
