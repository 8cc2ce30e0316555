import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { encodeFunctionData, type Hex, pad, parseAbi, parseSignature, toEventSelector } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { type Authorization, hasMoved, transferCall } from '../../../server/adapters/payments/mpp/evm/eip3009'
import { evmMethod } from '../../../server/adapters/payments/mpp/evm/evm'
import { tokenProblem } from '../../../server/adapters/payments/mpp/evm/token-check'
import { micros } from '../../../server/core/money'
import type { PaymentFate, ReadCredential } from '../../../server/core/payments/method'
import {
  EVM_CHAIN_ID,
  type EvmLie,
  openEvmSandbox,
  RELAYER,
  TOKEN_NAME,
  TOKEN_VERSION,
} from '../../support/evm/evm-sandbox'
import { offered } from '../../support/payments/payable-offer'
import { MERCHANT, PAYER, stranger } from '../../support/payments/payment-sandbox'
import { until } from '../../support/until'

const PRICE = 5000n
const CANCEL = parseAbi([
  'function cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
])

/** What the chain itself allows a payer, a stranger and other users of the relayer's key to do with an authorization. */
describe('the evm method on its chain', () => {
  let sandbox: Awaited<ReturnType<typeof openEvmSandbox>>
  beforeAll(async () => {
    sandbox = await openEvmSandbox()
  })
  afterAll(() => sandbox.close())

  const settings = () => ({
    ...sandbox.options,
    secret: 'a secret that only this test knows, long enough',
    realm: 'localhost',
    origin: 'http://localhost',
  })
  const method = (blockWaitMs = 10_000) =>
    evmMethod({ ...settings(), now: () => Date.now(), onTrouble: () => undefined, blockWaitMs })
  let made = 0
  const terms = () => ({
    amount: micros(Number(PRICE)),
    description: 'a call',
    resource: { method: 'GET', url: '/search' },
    binding: { op: 'image-search', fp: 'a fingerprint', rid: `request-${++made}`, own: '1' },
  })
  const credential = async (change: EvmLie = {}, by: PrivateKeyAccount = PAYER): Promise<ReadCredential> => {
    const { challenge } = await offered(method(), terms())
    const text = (await sandbox.lie(challenge, change, by)).replace(/^Payment /, '')
    const read = await method().read({ scheme: 'payment', text })
    if (!read?.ok) throw new Error('not readable')
    return read.value
  }
  const authorizationOf = ({ credential: shown }: ReadCredential) =>
    (shown as { authorization: Authorization }).authorization
  const received = () => sandbox.balance(MERCHANT)
  const counted = async (block: 'latest' | 'pending') =>
    Number(await sandbox.ask('eth_getTransactionCount', [RELAYER.address, block]))
  /** The network's answer, once the sent transaction is in a block. */
  const told = async (read: ReadCredential): Promise<PaymentFate> => {
    let fate = await method().lookUp(read.handle)
    await until(async () => {
      fate = await method().lookUp(read.handle)
      return fate.kind !== 'open'
    })
    return fate
  }

  test('a payer who spends the nonce on another transfer has not paid', async () => {
    const read = await credential()
    const nonce = authorizationOf(read).nonce as Hex
    const other = await credential({ to: stranger().address, nonce })
    const before = await received()
    await sandbox.write(transferCall(authorizationOf(other)))
    expect(await method().settle(read)).toMatchObject({ kind: 'refused' })
    expect(await method().lookUp(read.handle)).toEqual({ kind: 'never' })
    expect((await received()) - before).toBe(0n)
  })

  test('a payer who cancels the authorization has not paid', async () => {
    const read = await credential()
    const nonce = authorizationOf(read).nonce as Hex
    const signature = await PAYER.signTypedData({
      domain: { name: TOKEN_NAME, version: TOKEN_VERSION, chainId: EVM_CHAIN_ID, verifyingContract: sandbox.token },
      primaryType: 'CancelAuthorization',
      types: {
        CancelAuthorization: [
          { name: 'authorizer', type: 'address' },
          { name: 'nonce', type: 'bytes32' },
        ],
      },
      message: { authorizer: PAYER.address, nonce },
    })
    const { r, s, yParity } = parseSignature(signature)
    const args = [PAYER.address, nonce, 27 + yParity, r, s] as const
    await sandbox.write(encodeFunctionData({ abi: CANCEL, functionName: 'cancelAuthorization', args }))
    expect(await method().settle(read)).toMatchObject({ kind: 'refused' })
    expect(await method().lookUp(read.handle)).toEqual({ kind: 'never' })
  })

  test('a transfer that someone else submitted before us does not pay us', async () => {
    const read = await credential()
    const before = await received()
    await sandbox.write(transferCall(authorizationOf(read)), stranger())
    expect(await method().settle(read)).toMatchObject({ kind: 'refused' })
    expect(await method().lookUp(read.handle)).toEqual({ kind: 'never' })
    expect((await received()) - before).toBe(PRICE)
  })

  test('a transfer counts only for its own nonce, whatever else its transaction contains', () => {
    const [from, to, token] = [PAYER.address.toLowerCase(), MERCHANT, sandbox.token.toLowerCase()]
    const nonce = (digit: string): Hex => `0x${digit.repeat(64)}`
    const named = { chainId: EVM_CHAIN_ID, token, from, to, value: PRICE, nonce: nonce('a') }
    const used = (of: Hex, address: string = token) => ({
      address,
      topics: [toEventSelector('AuthorizationUsed(address,bytes32)'), pad(from as Hex), of],
      data: '0x',
    })
    const transfer = (receiver: string, value = PRICE, address: string = token) => ({
      address,
      topics: [
        toEventSelector('Transfer(address,address,uint256)'),
        pad(from as Hex),
        pad(receiver.toLowerCase() as Hex),
      ],
      data: pad(`0x${value.toString(16)}`),
    })
    const thief = stranger().address
    expect(hasMoved([used(nonce('a')), transfer(to)], named)).toBe(true)
    expect(hasMoved([used(nonce('b')), transfer(to), used(nonce('a')), transfer(thief)], named)).toBe(false)
    expect(hasMoved([used(nonce('a')), transfer(thief), used(nonce('b')), transfer(to)], named)).toBe(false)
    expect(hasMoved([used(nonce('a')), transfer(to, PRICE - 1n)], named)).toBe(false)
    // Alone in its transaction, its transfer may be told of first; but it must be the whole amount, and one.
    expect(hasMoved([transfer(to), used(nonce('a'))], named)).toBe(true)
    expect(hasMoved([transfer(to), used(nonce('a')), transfer(to)], named)).toBe(false)
    expect(hasMoved([transfer(to, PRICE - 1n), transfer(to, 1n), used(nonce('a'))], named)).toBe(false)
    expect(hasMoved([used(nonce('a'), thief), transfer(to, PRICE, thief)], named)).toBe(false)
    expect(hasMoved([transfer(to)], named)).toBe(false)
  })

  test('many at once: each has its own number, none is sent twice, all settle', async () => {
    const AT_ONCE = 12
    const paying = method()
    const reads = await Promise.all(Array.from({ length: AT_ONCE }, () => credential()))
    const [before, sent] = [await received(), await counted('latest')]
    // The chain of the test may be slow while other tests run. One that is unknown after the wait is settled again, as the gateway does.
    const settled = async (read: ReadCredential) => {
      const first = await paying.settle(read)
      return first.kind === 'unknown' ? paying.settle(read) : first
    }
    const outcomes = await Promise.all(reads.map(settled))
    expect(outcomes.filter(({ kind }) => kind !== 'settled')).toEqual([])
    expect(new Set(outcomes.map((outcome) => Reflect.get(outcome, 'reference'))).size).toBe(AT_ONCE)
    expect([(await received()) - before, (await counted('latest')) - sent]).toEqual([PRICE * BigInt(AT_ONCE), AT_ONCE])
  })

  test("another sender with the relayer's key does not stop it", async () => {
    const [paying, other] = [method(), method()]
    expect(await paying.settle(await credential())).toMatchObject({ kind: 'settled' })
    expect(await other.settle(await credential())).toMatchObject({ kind: 'settled' })
    // The first one's own count is behind by one now.
    expect(await paying.settle(await credential())).toMatchObject({ kind: 'settled' })
  })

  describe('while no block is made', () => {
    beforeAll(async () => {
      await sandbox.ask('evm_setIntervalMining', [0])
      await sandbox.ask('evm_setAutomine', [false])
    })
    afterAll(async () => {
      await sandbox.ask('evm_setAutomine', [true])
    })

    test('a payment stays unknown; resent, it replaces the first transaction, and the money moves once', async () => {
      const paying = method(0)
      const read = await credential()
      const [before, sent] = [await received(), await counted('latest')]
      expect(await paying.settle(read)).toMatchObject({ kind: 'unknown' })
      expect(await paying.lookUp(read.handle)).toEqual({ kind: 'open' })
      await paying.settle(read)
      expect(await counted('pending')).toBe(sent + 1)
      await sandbox.ask('evm_mine', [])
      expect((await told(read)).kind).toBe('settled')
      expect([(await received()) - before, (await counted('latest')) - sent]).toEqual([PRICE, 1])
    })

    test('one that waits for its block is unknown on every check, never refused, from any submitter', async () => {
      const read = await credential()
      const waiting = {
        from: PAYER.address,
        to: sandbox.token,
        gas: '0x30d40',
        data: transferCall(authorizationOf(read)),
      }
      await sandbox.ask('eth_sendTransaction', [waiting])
      expect(await method(0).settle(read)).toMatchObject({ kind: 'unknown' })
      await sandbox.ask('evm_mine', [])
    })

    test('one that the node dropped is resent with the same number', async () => {
      const paying = method(0)
      const read = await credential()
      const [before, sent] = [await received(), await counted('latest')]
      expect(await paying.settle(read)).toMatchObject({ kind: 'unknown' })
      await sandbox.ask('anvil_dropAllTransactions', [])
      expect(await paying.settle(read)).toMatchObject({ kind: 'unknown' })
      await sandbox.ask('evm_mine', [])
      expect((await told(read)).kind).toBe('settled')
      expect([(await received()) - before, (await counted('latest')) - sent]).toEqual([PRICE, 1])
    })
  })

  test('checks the settings against the chain: wrong chain, wrong name, not a token; waits for a node that does not respond', async () => {
    const right = settings()
    expect(await tokenProblem(right)).toBeNull()
    expect(await tokenProblem({ ...right, chainId: 1 })).toContain(`serves chain ${EVM_CHAIN_ID}, not 1`)
    expect(await tokenProblem({ ...right, tokenName: 'USD Coin' })).toContain('does not sign as "USD Coin"')
    expect(await tokenProblem({ ...right, token: PAYER.address })).toContain('not an EIP-3009 token')
    sandbox.setFault('dead')
    expect(await tokenProblem(right)).toBeNull()
    sandbox.setFault('ok')
  })

  describe('much later', () => {
    test('a payment is found whatever was mined since; one that was never sent is dead once it expires', async () => {
      const [paid, unsent] = [await credential(), await credential()]
      const settled = await method().settle(paid)
      expect(settled.kind).toBe('settled')
      expect(await method().lookUp(unsent.handle)).toEqual({ kind: 'open' })
      // More blocks than a node is asked about at once, and more time than an authorization lives.
      await sandbox.ask('anvil_mine', ['0x44c', '0x1'])
      expect(await method().lookUp(paid.handle)).toMatchObject({ ...settled, isFinal: true })
      expect(await method().lookUp(unsent.handle)).toEqual({ kind: 'never' })
    })

    test('on another chain than the configured one its outcome stays open: it cannot be determined here', async () => {
      const { handle } = await credential()
      const elsewhere = { ...handle, transaction: handle.transaction.replace(/^eip155:\d+/, 'eip155:1') }
      expect(await method().lookUp(elsewhere)).toEqual({ kind: 'open' })
    })
  })
})
