import { getAddress } from 'viem'
import { member } from '../../../../core/json'
import { type Binding, bindingText, digestOf } from '../../../../core/payments/binding'
import type { Resource, ShownPayment, Terms } from '../../../../core/payments/method'
import type { PaymentRefusal } from '../../../../core/payments/refusal'
import { err, ok, type Result } from '../../../../core/result'
import { opaqueOf } from '../challenge-writer'
import { credentialJson, decodedBinding } from '../credential-text'
import { bazaarExtension } from '../discovery'
import { type Permit, permitIn, SPONSORING } from './permit2'

export interface UptoWireOptions {
  readonly chainId: number
  readonly token: string
  readonly tokenName: string
  readonly tokenVersion: string
  readonly recipient: string
  /** Public origin, for the resource URL. */
  readonly origin: string
}

/** An x402 payment of the scheme `upto`. */
export interface UptoPayment {
  readonly permit: Permit
  /** The offer and the URL as the payer reports them. Its signature covers neither. */
  readonly accepted: unknown
  readonly url: unknown
  readonly hash: string
  /** The binding that clients echo; null if a client echoes nothing. */
  readonly binding: Binding | null
}

/** How long a payment is valid after it is signed. */
const LIFE_SECONDS = 300
/** The extension that carries our binding. Clients echo extensions. */
const BINDING = 'gateway'

/** Parses a payment; null when it is of another protocol. */
export function readUpto({ scheme, text }: ShownPayment): Result<UptoPayment, PaymentRefusal> | null {
  if (scheme !== 'x402') return null
  const payment = credentialJson(text)
  if (member(payment, 'x402Version') !== 2) return NOT_X402
  const accepted = member(payment, 'accepted')
  const permit = member(accepted, 'scheme') === 'upto' ? permitIn(payment) : null
  if (!permit) return NOT_A_PERMIT
  const echo = member(member(member(member(payment, 'extensions'), BINDING), 'info'), 'binding')
  const binding = typeof echo === 'string' ? decodedBinding(echo) : null
  return ok({ permit, accepted, url: member(member(payment, 'resource'), 'url'), hash: digestOf(text), binding })
}

/** Writes offers of the scheme and compares payments with them. `facilitator`: the account that settles. */
export function uptoWire(options: UptoWireOptions, facilitator: string, takesApprovals: () => boolean) {
  const network = `eip155:${options.chainId}`
  const [asset, payTo] = [getAddress(options.token), getAddress(options.recipient)]
  const publicUrl = ({ url }: Resource): string => {
    const { pathname, search } = new URL(url, options.origin)
    return options.origin + pathname + search
  }
  const requirement = (amount: bigint) => ({
    scheme: 'upto',
    network,
    amount: String(amount),
    asset,
    payTo,
    maxTimeoutSeconds: LIFE_SECONDS,
    extra: {
      name: options.tokenName,
      version: options.tokenVersion,
      assetTransferMethod: 'permit2',
      facilitatorAddress: getAddress(facilitator),
    },
  })
  return {
    requirement,
    /** The value of `PAYMENT-REQUIRED`. */
    offer(terms: Terms, amount: bigint): string {
      const url = publicUrl(terms.resource)
      const offer = {
        x402Version: 2,
        error: 'Payment required',
        resource: { url, description: terms.description },
        accepts: [requirement(amount)],
        extensions: {
          [BINDING]: { info: { binding: opaqueOf(terms.binding) }, schema: BINDING_SCHEMA },
          ...bazaarExtension(terms, url),
          ...(takesApprovals() && { [SPONSORING]: SPONSORING_EXTENSION }),
        },
      }
      return Buffer.from(JSON.stringify(offer)).toString('base64')
    },
    /** The difference between a payment and this offer; null without one. The chain and the signature are not checked here. */
    mismatch({ permit, accepted, url, binding }: UptoPayment, terms: Terms, amount: bigint): PaymentRefusal | null {
      const offered = requirement(amount)
      const isSame = (name: 'network' | 'asset' | 'payTo' | 'amount') =>
        String(member(accepted, name)).toLowerCase() === offered[name].toLowerCase()
      if (binding && bindingText(binding) !== bindingText(terms.binding))
        return invalid('the payment was made for a different request')
      if (url !== publicUrl(terms.resource)) return invalid('the payment names a different URL')
      if (!isSame('network') || !isSame('asset') || !isSame('payTo') || !isSame('amount'))
        return invalid('the payment accepts a different offer')
      const wrong = [
        permit.token !== asset.toLowerCase() && 'token',
        permit.amount !== amount && 'maximum amount',
        permit.to !== payTo.toLowerCase() && 'recipient',
        permit.facilitator !== facilitator.toLowerCase() && 'facilitator',
        permit.approval !== null && permit.approval.value !== amount && 'amount of the approval',
      ].find((what) => typeof what === 'string')
      return wrong ? { code: 'verification_failed', reason: `The payment is signed for another ${wrong}.` } : null
    },
  }
}

function invalid(reason: string): PaymentRefusal {
  return { code: 'invalid_challenge', reason: `The payment does not fit this request: ${reason}.` }
}

const TEXT = { type: 'string' }
const BINDING_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: { binding: { ...TEXT, description: 'Binds the payment to this request. Send it back unchanged.' } },
  required: ['binding'],
}
const HEX = { ...TEXT, pattern: '^0x[a-fA-F0-9]+$' }
const ADDRESS = { ...TEXT, pattern: '^0x[a-fA-F0-9]{40}$' }
const NUMBER = { ...TEXT, pattern: '^[0-9]+$' }
const SPONSORING_EXTENSION = {
  info: {
    description: 'An EIP-2612 permit for the canonical Permit2 contract is accepted; this gateway pays its gas.',
    version: '1',
  },
  schema: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      from: ADDRESS,
      asset: ADDRESS,
      spender: ADDRESS,
      amount: NUMBER,
      nonce: NUMBER,
      deadline: NUMBER,
      signature: HEX,
      version: { ...TEXT, pattern: '^[0-9]+(\\.[0-9]+)*$' },
    },
    required: ['from', 'asset', 'spender', 'amount', 'nonce', 'deadline', 'signature', 'version'],
  },
}

const NOT_X402 = err({
  code: 'malformed_credential',
  reason: 'PAYMENT-SIGNATURE is not a base64-encoded x402 payment of version 2.',
} satisfies PaymentRefusal)

const NOT_A_PERMIT = err({
  code: 'invalid_payload',
  reason: 'The price follows from the answer, so the payment must be of the scheme upto: a permit of Permit2.',
} satisfies PaymentRefusal)
