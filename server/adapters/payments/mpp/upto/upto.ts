import { type Address, type Client, decodeFunctionResult, encodeFunctionData, erc20Abi, type Hex, parseAbi } from 'viem'
import { call, getCode, readContract } from 'viem/actions'
import type { Money } from '../../../../core/money'
import { PAYMENT_YIELD } from '../../../../core/payments/event-loop-yield'
import type { PaymentMethod, ReadCredential, SettleOutcome } from '../../../../core/payments/method'
import { NETWORK, type PaymentRefusal } from '../../../../core/payments/refusal'
import { err, ok } from '../../../../core/result'
import { settleByCall, simulatedAmount } from '../chain/contract-calls'
import { isNodeTrouble, isRevert } from '../chain/node-trouble'
import { receivedTransfers } from '../chain/received'
import { MAX_LIFE_MS } from '../evm/eip3009'
import type { EvmNetwork, EvmOptions, RelayedNetwork } from '../evm/evm-network'
import { chainReason } from '../refusals'
import { hasSettled, permitFateOf, permitName } from './permit-fate'
import { isSignedByPayer, PERMIT2, type Permit, settleCall, UPTO_PROXY } from './permit2'
import { readUpto, type UptoPayment, uptoWire } from './upto-wire'

const PERMITS_ABI = parseAbi(['function nonces(address owner) view returns (uint256)'])

/**
 * x402's scheme `upto`, for prices that follow from the answer: the payer signs a permit of Permit2 for the maximum, and our relayer settles the
 * true price once the answer has arrived. The permit names our relayer, so only it can settle the permit or choose the amount, and its
 * contracts allow one settlement, of at most what was signed. Without one it expires.
 */
export function uptoMethod(options: EvmOptions, network: EvmNetwork & RelayedNetwork): PaymentMethod {
  const { chainId, decimals, minAmount } = options
  const { token, balance } = network
  const { relayer, watch } = network.relayed
  const contracts = contractsOn(options, network)
  const wire = uptoWire(options, relayer.address, contracts.takesApprovals)
  const units = (amount: Money) => BigInt(amount) * 10n ** BigInt(decimals - 6)
  const permits = settling(options, network)
  return {
    name: 'upto',
    isUpTo: true,
    currency: token,
    alsoBy: 'x402, scheme upto: PAYMENT-REQUIRED, PAYMENT-SIGNATURE, PAYMENT-RESPONSE',
    minAmount,
    units,
    async offer(terms) {
      if ((terms.least ?? terms.amount) < minAmount || !(await watch.isWell()) || !(await contracts.exist()))
        return null
      return { method: 'upto', more: { 'payment-required': wire.offer(terms, units(terms.amount)) } }
    },
    async read(shown) {
      const read = readUpto(shown)
      if (!read?.ok) return read
      const { permit, hash, binding } = read.value
      const claimKey = `permit2:${chainId}:${permit.from}:${permit.nonce}`
      const handle = { transaction: permitName(chainId, permit), validBefore: Number(permit.deadline) * 1000 }
      // A payment without a binding is bound to the first request that presents it.
      const bound = binding ?? { own: '1', rid: claimKey }
      return ok({ claimKey, hash, binding: bound, handle, credential: read.value })
    },
    async validate({ credential }, terms) {
      const payment = credential as UptoPayment // created by `read`
      const { permit } = payment
      const life = lifeProblem(permit, options.now())
      if (life) return err(life)
      if ((terms.least ?? terms.amount) < minAmount) return err(TOO_LITTLE)
      const mismatch = wire.mismatch(payment, terms, units(terms.amount))
      if (mismatch) return err(mismatch)
      if (permit.spender !== UPTO_PROXY.toLowerCase()) return err(NOT_SIGNED)
      await PAYMENT_YIELD.next()
      if (!(await isSignedByPayer(chainId, permit))) return err(NOT_SIGNED)
      const refusal = await permits.refusal(permit)
      return refusal ? err(refusal) : ok({ payer: permit.from })
    },
    settle: (read, amount) =>
      permits.settle(read, amount === undefined ? null : units(amount)).catch((error) => {
        // Check the chain before the next offer, whatever the problem was.
        void watch.checkAgain()
        return { kind: 'unknown', reason: chainReason(error), isOurs: true }
      }),
    lookUp: (handle) =>
      permits.fateOf(handle).then(
        ({ fate }) => fate,
        () => ({ kind: 'open' }),
      ),
    receiptHeaders({ credential }, { reference }, amount) {
      const { permit } = credential as UptoPayment // created by `read`
      const settled = { success: true, transaction: reference, network: `eip155:${chainId}`, payer: permit.from }
      const text = JSON.stringify({ ...settled, amount: String(units(amount)) })
      return { 'payment-response': Buffer.from(text).toString('base64') }
    },
    received: receivedTransfers(network.reads, options),
    balance,
  }
}

/** Looks up permits on the chain and settles them. */
function settling(options: EvmOptions, { token, reads, relayed }: EvmNetwork & RelayedNetwork) {
  const { relayer, watch } = relayed
  const { confirmations, onTrouble } = options
  const recipient = options.recipient as Address // the configuration validated its form
  const fateOf = (handle: ReadCredential['handle']) => permitFateOf(reads, handle, confirmations)

  /** The chain refused it from us: its nonce may be spent. */
  const spentOrRefused = async ({ handle }: ReadCredential, reason: string): Promise<SettleOutcome> => {
    const { fate, used } = await fateOf(handle)
    if (fate.kind === 'settled') return fate
    if (fate.kind === 'open' && used) return { kind: 'unknown', reason }
    return { kind: 'refused', reason }
  }

  return {
    fateOf,

    /** The obstacle to a settlement of the maximum now, and whether the payer or the gateway is the cause. */
    async refusal(permit: Permit): Promise<PaymentRefusal | null> {
      const data = settleCall(permit, permit.amount)
      try {
        const moved = await simulatedAmount(watch, () =>
          movedByRelayer(reads, { relayer: relayer.address, token, recipient, target: UPTO_PROXY, data }),
        )
        if (moved === null) return watch.refusal()
        if (moved === permit.amount) return null
        onTrouble(
          'upto payments are refused: the token does not transfer the requested amount',
          `${moved} of ${permit.amount}`,
        )
        return NETWORK
      } catch (error) {
        // Any other error is the node's.
        return isRevert(error) ? WOULD_FAIL : NETWORK
      }
    },

    /** Sends a settlement and waits for its block. Rejects when the node does not respond. */
    async settle(read: ReadCredential, price: bigint | null): Promise<SettleOutcome> {
      const { permit } = read.credential as UptoPayment // created by `read`
      const amount = price ?? permit.amount
      const call = { to: UPTO_PROXY, data: settleCall(permit, amount) }
      return settleByCall(relayed, call, {
        isPaidBy: (receipt) => hasSettled(receipt, permit, amount),
        spentOrRefused: (reason) => spentOrRefused(read, reason),
      })
    },
  }
}

/**
 * Whether the scheme can be settled here: its contracts are on this chain, and the node simulates calls from the relayer. Also whether the token
 * takes signed approvals. Asked until the node has answered.
 */
function contractsOn(options: EvmOptions, { reads, token, relayed: { relayer } }: EvmNetwork & RelayedNetwork) {
  let found: Promise<boolean> | null = null
  let approvals = false
  const recipient = options.recipient as Address // the configuration validated its form
  /** False when the node refuses it; throws when it does not answer. */
  const works = (request: Promise<unknown>) =>
    request.then(
      () => true,
      (error) => {
        if (isNodeTrouble(error)) throw error
        return false
      },
    )
  const look = async () => {
    const codes = await Promise.all([PERMIT2, UPTO_PROXY].map((address) => getCode(reads, { address })))
    const balance = encodeFunctionData({ abi: erc20Abi, functionName: 'balanceOf', args: [recipient] })
    const simulation = { relayer: relayer.address, token, recipient, target: token, data: balance }
    const isSimulated = await works(movedByRelayer(reads, simulation))
    const nonces = { address: token, abi: PERMITS_ABI, functionName: 'nonces', args: [token] } as const
    approvals = await works(readContract(reads, nonces))
    const problem = codes.some((code) => code === undefined || code === '0x')
      ? `the chain lacks Permit2 (${PERMIT2}) or the contract of x402 (${UPTO_PROXY})`
      : isSimulated
        ? null
        : 'the node of PAYMENTS_EVM_RPC_URL does not support state overrides in eth_call'
    if (problem !== null) options.onTrouble('upto is not offered', problem)
    return problem === null
  }
  return {
    takesApprovals: () => approvals,
    async exist(): Promise<boolean> {
      found ??= look()
      return found.catch(() => {
        found = null
        return false
      })
    },
  }
}

function lifeProblem({ deadline, validAfter }: Permit, now: number): PaymentRefusal | null {
  const end = Number(deadline) * 1000
  if (end <= now) return { code: 'payment_expired', reason: 'The permit has expired.' }
  if (end > now + MAX_LIFE_MS)
    return { code: 'verification_failed', reason: 'The permit must not be valid for more than ten minutes.' }
  return Number(validAfter) * 1000 > now
    ? { code: 'verification_failed', reason: 'The permit is not valid yet.' }
    : null
}

const TOO_LITTLE: PaymentRefusal = {
  code: 'verification_failed',
  reason: 'The price can be below the minimum of this payment method.',
}
const NOT_SIGNED: PaymentRefusal = {
  code: 'verification_failed',
  reason: 'The permit is not signed by its payer for the contract that settles upto.',
}
const WOULD_FAIL: PaymentRefusal = {
  code: 'verification_failed',
  reason:
    'The payment would fail: the payer lacks the maximum amount, has not approved Permit2 for it, or has used the nonce.',
}

/** `moved-by-relayer.sol` in this folder, as on a chain: solc 0.8.30, evmVersion paris, optimizer 200 runs, metadata.appendCBOR false. */
const CODE =
  '0x608060405234801561001057600080fd5b506004361061002b5760003560e01c80632576c24114610030575b600080fd5b61004361003e3660046101d7565b610055565b60405190815260200160405180910390f35b6040516370a0823160e01b81526001600160a01b03858116600483015260009182918816906370a0823190602401602060405180830381865afa1580156100a0573d6000803e3d6000fd5b505050506040513d601f19601f820116820180604052508101906100c4919061027b565b9050600080866001600160a01b031686866040516100e3929190610294565b6000604051808303816000865af19150503d8060008114610120576040519150601f19603f3d011682016040523d82523d6000602084013e610125565b606091505b50915091508161013757805160208201fd5b6040516370a0823160e01b81526001600160a01b0389811660048301528491908b16906370a0823190602401602060405180830381865afa158015610180573d6000803e3d6000fd5b505050506040513d601f19601f820116820180604052508101906101a4919061027b565b6101ae91906102a4565b9998505050505050505050565b80356001600160a01b03811681146101d257600080fd5b919050565b6000806000806000608086880312156101ef57600080fd5b6101f8866101bb565b9450610206602087016101bb565b9350610214604087016101bb565b9250606086013567ffffffffffffffff81111561023057600080fd5b8601601f8101881361024157600080fd5b803567ffffffffffffffff81111561025857600080fd5b88602082840101111561026a57600080fd5b959894975092955050506020019190565b60006020828403121561028d57600080fd5b5051919050565b8183823760009101908152919050565b818103818111156102c557634e487b7160e01b600052601160045260246000fd5b9291505056'
const ABI = parseAbi(['function moved(address token, address recipient, address target, bytes data) returns (uint256)'])

interface RelayedTransfer {
  readonly relayer: Address
  readonly token: Address
  readonly recipient: Address
  readonly target: Address
  readonly data: Hex
}

/**
 * The amount by which a call from the relayer would increase the recipient's balance in the chain's current state, regardless of the
 * events that the token logs. The node must support state overrides in `eth_call`. Rejects with the contract's own reason if it
 * refuses the call.
 */
async function movedByRelayer(
  client: Client,
  { relayer, token, recipient, target, data }: RelayedTransfer,
): Promise<bigint> {
  const { data: grown } = await call(client, {
    to: relayer,
    data: encodeFunctionData({ abi: ABI, functionName: 'moved', args: [token, recipient, target, data] }),
    stateOverride: [{ address: relayer, code: CODE }],
  })
  return decodeFunctionResult({ abi: ABI, functionName: 'moved', data: grown ?? '0x' })
}
