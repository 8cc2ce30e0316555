import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { PERMIT2_ADDRESS, x402UptoPermit2ProxyABI, x402UptoPermit2ProxyAddress } from '@x402/evm'
import { type Address, encodeFunctionData, type Hex, parseAbi } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { type EvmOptions, evmNetwork } from '../../../server/adapters/payments/mpp/evm/evm-network'
import { PERMIT2, type Permit, settleCall, UPTO_PROXY } from '../../../server/adapters/payments/mpp/upto/permit2'
import { uptoMethod } from '../../../server/adapters/payments/mpp/upto/upto'
import { micros } from '../../../server/core/money'
import type { PaymentMethod, ReadCredential, Terms } from '../../../server/core/payments/method'
import { termsOf } from '../../contracts/payment-method.contract'
import { openEvmSandbox, RELAYER } from '../../support/evm/evm-sandbox'
import { MERCHANT, PAYER, stranger } from '../../support/payments/payment-sandbox'

const MAXIMUM = 5000n
const PERMIT2_ABI = parseAbi(['function invalidateUnorderedNonces(uint256 word, uint256 mask)'])
const metered = (more: Partial<Terms> = {}): Terms => termsOf({ least: micros(1000), ...more })
/** One request. */
const TERMS = metered()
const seconds = (from: number) => String(Math.floor(Date.now() / 1000) + from)

type Tail<T extends readonly unknown[]> = T extends readonly [unknown, ...infer R] ? R : never

describe('the upto method, and attacks on it', () => {
  let sandbox: Awaited<ReturnType<typeof openEvmSandbox>>
  let troubles: string[] = []
  beforeAll(async () => {
    sandbox = await openEvmSandbox()
    await Promise.all([sandbox.placeUptoContracts(), sandbox.approve()])
  })
  beforeEach(() => {
    troubles = []
    sandbox.setFault('ok')
  })
  afterAll(() => sandbox.close())

  const method = (more: Partial<EvmOptions> = {}): PaymentMethod => {
    const told = troubles
    const options: EvmOptions = {
      ...sandbox.options,
      secret: 'a secret that only this test knows, long enough',
      realm: 'localhost',
      origin: 'http://localhost',
      now: () => Date.now(),
      onTrouble: (what, reason) => told.push(`${what}: ${reason}`),
      ...more,
    }
    const { relayed, ...network } = evmNetwork(options)
    if (!relayed) throw new Error('there is no relayer')
    return uptoMethod(options, { ...network, relayed })
  }
  const required = async (paying: PaymentMethod, terms = TERMS) => {
    const offer = await paying.offer(terms)
    if (!offer) throw new Error('nothing is offered')
    return offer.more['payment-required'] ?? ''
  }
  const read = async (paying: PaymentMethod, text: string): Promise<ReadCredential> => {
    const found = await paying.read({ scheme: 'x402', text })
    if (!found?.ok) throw new Error(found ? found.error.code : 'of another method')
    return found.value
  }
  const permitOf = ({ credential }: ReadCredential) => (credential as { permit: Permit }).permit
  const honest = async (paying: PaymentMethod, payer = PAYER) =>
    read(paying, await sandbox.uptoSignature(await required(paying), payer))
  const verdict = async (paying: PaymentMethod, text: string, terms = TERMS) => {
    const found = await paying.read({ scheme: 'x402', text })
    if (!found?.ok) return found?.error.code
    const valid = await paying.validate(found.value, terms)
    return valid.ok ? 'valid' : valid.error.code
  }
  const received = () => sandbox.balance(MERCHANT)
  const lie = async (paying: PaymentMethod, ...change: Tail<Parameters<typeof sandbox.uptoLie>>) =>
    sandbox.uptoLie(await required(paying), ...change)
  /** A call by anybody, through the chain itself. */
  const calls = (by: PrivateKeyAccount, to: Address, data: Hex) => sandbox.write(data, by, to)

  test('addresses and calls are those of the published package', async () => {
    expect([PERMIT2, UPTO_PROXY]).toEqual([PERMIT2_ADDRESS, x402UptoPermit2ProxyAddress])
    const permit = permitOf(await honest(method()))
    const { from, nonce, deadline, signature } = permit
    const args = [
      { permitted: { token: permit.token as Address, amount: permit.amount }, nonce, deadline },
      1234n,
      from as Address,
      { to: permit.to as Address, facilitator: permit.facilitator as Address, validAfter: permit.validAfter },
      signature,
    ] as const
    expect(settleCall(permit, 1234n)).toBe(
      encodeFunctionData({ abi: x402UptoPermit2ProxyABI, functionName: 'settle', args }),
    )
  })

  test('settling takes what the call costs, once, however often it is called and whatever is asked for then', async () => {
    const paying = method()
    const before = await received()
    const shown = await honest(paying)
    expect(await paying.validate(shown, TERMS)).toEqual({ ok: true, value: { payer: PAYER.address.toLowerCase() } })
    expect(await paying.lookUp(shown.handle)).toEqual({ kind: 'open' })
    const settled = await paying.settle(shown, micros(1234))
    expect(settled.kind).toBe('settled')
    expect(await paying.settle(shown, micros(5000))).toMatchObject(settled)
    expect(await method().lookUp(shown.handle)).toMatchObject({ ...settled, isFinal: true })
    expect((await received()) - before).toBe(1234n)
  })

  test('two gateways of one relayer that settle at once take it once', async () => {
    const [one, other] = [method(), method()]
    const before = await received()
    const shown = await honest(one)
    const outcomes = await Promise.all([one.settle(shown, micros(2000)), other.settle(shown, micros(2000))])
    expect(outcomes.map(({ kind }) => kind)).toContain('settled')
    expect((await received()) - before).toBe(2000n)
  })

  test('nothing above the maximum can be settled', async () => {
    const paying = method()
    const before = await received()
    expect(await paying.settle(await honest(paying), micros(5001))).toMatchObject({ kind: 'refused' })
    expect((await received()) - before).toBe(0n)
  })

  test('every false statement about the offer is refused, and moves nothing', async () => {
    const paying = method()
    const before = await received()
    const somebody = stranger().address
    const lies: Record<string, string> = {
      'less than the maximum': await lie(paying, ({ permitted }) => ({ permitted: { ...permitted, amount: '4999' } })),
      'more than the maximum': await lie(paying, ({ permitted }) => ({ permitted: { ...permitted, amount: '5001' } })),
      'another token': await lie(paying, ({ permitted }) => ({ permitted: { ...permitted, token: somebody } })),
      'another recipient': await lie(paying, ({ witness }) => ({ witness: { ...witness, to: somebody } })),
      'itself as the one who settles': await lie(paying, ({ witness }) => ({
        witness: { ...witness, facilitator: PAYER.address },
      })),
      'another spender': await lie(paying, () => ({ spender: somebody })),
      'the money of somebody else': await lie(paying, () => ({}), { by: stranger() }),
      'another chain': await lie(paying, () => ({}), { chainId: 1 }),
      'not valid yet': await lie(paying, ({ witness }) => ({ witness: { ...witness, validAfter: seconds(100) } })),
      'valid for an hour': await lie(paying, () => ({ deadline: seconds(3600) })),
      'another URL': await lie(paying, () => ({}), { around: { resource: { url: 'http://localhost/another' } } }),
      'no URL': await lie(paying, () => ({}), { around: { resource: undefined } }),
      'another request': await lie(paying, () => ({}), {
        around: { extensions: { gateway: { info: { binding: btoa('{"op":"another"}') } } } },
      }),
    }
    for (const [what, text] of Object.entries(lies))
      expect([what, await verdict(paying, text)]).toEqual([
        what,
        expect.stringMatching(/^(verification_failed|invalid_challenge)$/),
      ])
    expect(await verdict(paying, await lie(paying, () => ({ deadline: seconds(-5) })))).toBe('payment_expired')
    expect(await verdict(paying, await sandbox.x402Signature(await exactOffer(paying)))).toBe('invalid_payload')
    expect(await verdict(paying, 'e30=')).toBe('malformed_credential')
    expect((await received()) - before).toBe(0n)
  })

  /** The offer, as if it were of a fixed price. */
  const exactOffer = async (paying: PaymentMethod) => {
    const offer = JSON.parse(atob(await required(paying)))
    return btoa(JSON.stringify({ ...offer, accepts: [{ ...offer.accepts[0], scheme: 'exact' }] }))
  }

  test('a permit with its nonce that the payer settles itself for a millionth does not count as the payment', async () => {
    const paying = method()
    const shown = await honest(paying)
    const permit = permitOf(shown)
    const before = await received()
    // The same nonce, signed for a tiny amount that the payer may choose itself.
    const own = await lie(paying, ({ permitted, witness }) => ({
      nonce: String(permit.nonce),
      permitted: { ...permitted, amount: '1' },
      witness: { ...witness, facilitator: PAYER.address },
    }))
    const found = permitOf(await read(paying, own))
    await calls(PAYER, UPTO_PROXY, settleCall(found, 1n))
    expect((await received()) - before).toBe(1n)
    expect(await paying.lookUp(shown.handle)).toEqual({ kind: 'open' })
    expect(await verdict(paying, own)).toBe('verification_failed')
    expect(await paying.settle(shown, micros(2000))).toMatchObject({ kind: 'unknown' })
    expect((await received()) - before).toBe(1n)
  })

  test('only our relayer can settle an authorization signed for it, at any price for gas', async () => {
    const shown = await honest(method())
    const thief = stranger()
    await expect(calls(thief, UPTO_PROXY, settleCall(permitOf(shown), MAXIMUM))).rejects.toThrow()
    expect(permitOf(shown).facilitator).toBe(RELAYER.address.toLowerCase())
  })

  test('a payer who cancels the nonce, or empties the wallet, while the upstream works gets nothing, and is not charged', async () => {
    const paying = method()
    const payer = stranger()
    await sandbox.mint(payer.address, 20_000n)
    await sandbox.approve(payer)
    const before = await received()
    const canceled = await honest(paying, payer)
    expect((await paying.validate(canceled, TERMS)).ok).toBe(true)
    const { nonce } = permitOf(canceled)
    const args = [nonce >> 8n, 1n << (nonce & 255n)] as const
    await calls(
      payer,
      PERMIT2,
      encodeFunctionData({ abi: PERMIT2_ABI, functionName: 'invalidateUnorderedNonces', args }),
    )
    // Its nonce is spent, and the node may be late to show by what: unknown until it has expired.
    expect(await paying.settle(canceled, micros(2000))).toMatchObject({ kind: 'unknown' })
    const drained = await honest(paying, payer)
    expect((await paying.validate(drained, TERMS)).ok).toBe(true)
    await sandbox.drain(payer)
    expect(await paying.settle(drained, micros(2000))).toMatchObject({ kind: 'refused' })
    expect((await received()) - before).toBe(0n)
  })

  test('an authorization that expired unused never settles, nor does a spent nonce without our settlement', async () => {
    const paying = method()
    const shown = await honest(paying)
    const over = { ...shown.handle, validBefore: Date.now() - 60_000 }
    expect(await paying.lookUp(over)).toEqual({ kind: 'never' })
    await paying.settle(shown, micros(1000))
    expect(await paying.lookUp(over)).toMatchObject({ kind: 'settled' })
  })

  test('a token that takes a fee is noticed before anything runs, and is the problem of the operator', async () => {
    const paying = method()
    const text = await sandbox.uptoSignature(await required(paying))
    await sandbox.misbehave('setFeePercent', 1n)
    expect(await verdict(paying, text)).toBe('payment_network_unavailable')
    await sandbox.misbehave('setFeePercent', 0n)
    expect(await verdict(paying, text)).toBe('valid')
    expect(troubles.join()).toContain('does not transfer the requested amount')
  })

  test('a dead node is not the fault of the payer, and what was sent stays unknown', async () => {
    const paying = method()
    const shown = await honest(paying)
    sandbox.setFault('dead')
    expect(await paying.validate(shown, TERMS)).toMatchObject({ error: { code: 'payment_network_unavailable' } })
    expect(await paying.settle(shown, micros(1000))).toMatchObject({ kind: 'unknown', isOurs: true })
    expect(await paying.lookUp(shown.handle)).toEqual({ kind: 'open' })
  })

  test('is offered only where the least price covers a settlement, and its contracts are on the chain', async () => {
    const least = micros(1000)
    expect(await method({ minAmount: micros(1001) }).offer(metered({ least }))).toBeNull()
    const plain = Bun.serve({
      port: 0,
      async fetch(request) {
        const body = await request.text()
        // A node that knows two parameters of eth_call.
        const asked = [JSON.parse(body)].flat() as { method: string; params?: unknown[]; id: number }[]
        if (asked.some(({ method, params }) => method === 'eth_call' && (params?.length ?? 0) > 2))
          return Response.json(
            asked.map(({ id }) => ({ jsonrpc: '2.0', id, error: { code: -32602, message: 'too many arguments' } })),
          )
        return fetch(sandbox.chainUrl, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
      },
    })
    expect(await method({ rpcUrl: String(plain.url) }).offer(metered())).toBeNull()
    await plain.stop(true)
    expect(troubles.splice(0)).toEqual([expect.stringContaining('state overrides')])
    await sandbox.ask('anvil_setCode', [UPTO_PROXY, '0x'])
    expect(await method().offer(metered())).toBeNull()
    expect(troubles).toEqual([expect.stringContaining('upto is not offered')])
    await sandbox.placeUptoContracts()
    expect(await method().offer(metered())).not.toBeNull()
  })
})
