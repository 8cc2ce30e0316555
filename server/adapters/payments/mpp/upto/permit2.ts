import {
  type Address,
  decodeFunctionData,
  encodeFunctionData,
  type Hex,
  parseAbi,
  parseSignature,
  recoverTypedDataAddress,
} from 'viem'
import { member } from '../../../../core/json'

/** Uniswap's Permit2, and the contract of x402 that settles `upto` with it. Each has one address on every chain. */
export const PERMIT2: Address = '0x000000000022D473030F116dDEE9F6B43aC78BA3'
export const UPTO_PROXY: Address = '0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002'

const PROXY_ABI = parseAbi([
  'struct TokenPermissions { address token; uint256 amount; }',
  'struct Permit { TokenPermissions permitted; uint256 nonce; uint256 deadline; }',
  'struct Witness { address to; address facilitator; uint256 validAfter; }',
  'struct TokenPermit { uint256 value; uint256 deadline; bytes32 r; bytes32 s; uint8 v; }',
  'function settle(Permit permit, uint256 amount, address owner, Witness witness, bytes signature)',
  'function settleWithPermit(TokenPermit permit2612, Permit permit, uint256 amount, address owner, Witness witness, bytes signature)',
])

/** The signed data (EIP-712). The witness names who may settle, and only that account can choose the amount. */
const SIGNED_TYPES = {
  PermitWitnessTransferFrom: [
    { name: 'permitted', type: 'TokenPermissions' },
    { name: 'spender', type: 'address' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint256' },
    { name: 'witness', type: 'Witness' },
  ],
  TokenPermissions: [
    { name: 'token', type: 'address' },
    { name: 'amount', type: 'uint256' },
  ],
  Witness: [
    { name: 'to', type: 'address' },
    { name: 'facilitator', type: 'address' },
    { name: 'validAfter', type: 'uint256' },
  ],
} as const

/** A transfer of up to `amount`, signed by its payer for one settling account and one recipient. Addresses are lower case. */
export interface Permit {
  readonly from: string
  readonly token: string
  /** The maximum. */
  readonly amount: bigint
  readonly spender: string
  /** Used up by any use of it: Permit2 has one set of nonces per payer, for all tokens and spenders. */
  readonly nonce: bigint
  readonly deadline: bigint
  readonly to: string
  readonly facilitator: string
  readonly validAfter: bigint
  readonly signature: Hex
  /** The payer's approval of Permit2 (EIP-2612), for a payer without gas. */
  readonly approval: Approval | null
}

interface Approval {
  readonly value: bigint
  readonly deadline: bigint
  readonly signature: Hex
}

/** The permit in an x402 payment of version 2; null when it has another form. */
export function permitIn(payment: unknown): Permit | null {
  const sent = member(payment, 'payload')
  const signed = member(sent, 'permit2Authorization')
  const [permitted, witness] = [member(signed, 'permitted'), member(signed, 'witness')]
  const [from, spender, to] = [address(signed, 'from'), address(signed, 'spender'), address(witness, 'to')]
  const [token, facilitator] = [address(permitted, 'token'), address(witness, 'facilitator')]
  const [amount, nonce, deadline] = [whole(permitted, 'amount'), whole(signed, 'nonce'), whole(signed, 'deadline')]
  const [validAfter, signature] = [whole(witness, 'validAfter'), signatureIn(sent)]
  const approval = approvalIn(payment)
  if (!from || !spender || !to || !token || !facilitator || !signature || approval === undefined) return null
  if (amount === null || nonce === null || deadline === null || validAfter === null) return null
  return { from, token, amount, spender, nonce, deadline, to, facilitator, validAfter, signature, approval }
}

/** Null without an approval, undefined if it has another form. */
function approvalIn(payment: unknown): Approval | null | undefined {
  const info = member(member(member(payment, 'extensions'), SPONSORING), 'info')
  // The offer's own `info`, sent back.
  if (member(info, 'signature') === undefined) return null
  const [value, deadline, signature] = [whole(info, 'amount'), whole(info, 'deadline'), signatureIn(info)]
  return value === null || deadline === null || !signature ? undefined : { value, deadline, signature }
}

/** The extension by which a payer sends its approval of Permit2 along, so that the relayer pays the gas of it. */
export const SPONSORING = 'eip2612GasSponsoring'

function address(value: unknown, name: string): string | null {
  const text = member(value, name)
  return typeof text === 'string' && /^0x[0-9a-f]{40}$/i.test(text) ? text.toLowerCase() : null
}

function whole(value: unknown, name: string): bigint | null {
  const text = member(value, name)
  if (typeof text !== 'string' || !/^(\d{1,78}|0x[0-9a-f]{1,64})$/i.test(text)) return null
  const number = BigInt(text)
  return number < 2n ** 256n ? number : null
}

function signatureIn(value: unknown): Hex | null {
  const text = member(value, 'signature')
  return typeof text === 'string' && /^0x[0-9a-f]{128}(1b|1c)$/i.test(text) ? (text.toLowerCase() as Hex) : null
}

/** Whether its payer signed it. Contracts that sign are not accepted. */
export async function isSignedByPayer(chainId: number, permit: Permit): Promise<boolean> {
  try {
    const signer = await recoverTypedDataAddress({
      domain: { name: 'Permit2', chainId, verifyingContract: PERMIT2 },
      types: SIGNED_TYPES,
      primaryType: 'PermitWitnessTransferFrom',
      message: {
        permitted: permittedOf(permit),
        spender: permit.spender as Address,
        nonce: permit.nonce,
        deadline: permit.deadline,
        witness: witnessOf(permit),
      },
      signature: permit.signature,
    })
    return signer.toLowerCase() === permit.from
  } catch {
    return false
  }
}

/** The contract call that transfers this amount of the token. */
export function settleCall(permit: Permit, amount: bigint): Hex {
  const args = [
    { permitted: permittedOf(permit), nonce: permit.nonce, deadline: permit.deadline },
    amount,
    permit.from as Address,
    witnessOf(permit),
    permit.signature,
  ] as const
  if (!permit.approval) return encodeFunctionData({ abi: PROXY_ABI, functionName: 'settle', args })
  const { value, deadline, signature } = permit.approval
  const { r, s, yParity } = parseSignature(signature)
  const approval = { value, deadline, r, s, v: 27 + yParity }
  return encodeFunctionData({ abi: PROXY_ABI, functionName: 'settleWithPermit', args: [approval, ...args] })
}

/** The permit that a transaction used, and how much it took; null when it calls something else. */
export function settledBy(data: Hex): { facilitator: string; from: string; nonce: bigint; amount: bigint } | null {
  try {
    const { functionName, args } = decodeFunctionData({ abi: PROXY_ABI, data })
    const [permit, amount, owner, witness] = functionName === 'settle' ? args : [args[1], args[2], args[3], args[4]]
    return {
      facilitator: witness.facilitator.toLowerCase(),
      from: owner.toLowerCase(),
      nonce: permit.nonce,
      amount,
    }
  } catch {
    return null
  }
}

// The form of the addresses was checked when they were read.
const permittedOf = ({ token, amount }: Permit) => ({ token: token as Address, amount })
const witnessOf = ({ to, facilitator, validAfter }: Permit) => ({
  to: to as Address,
  facilitator: facilitator as Address,
  validAfter,
})
