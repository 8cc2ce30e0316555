import { Errors } from 'mppx'
import { evm } from 'mppx/evm/server'
import { Mppx } from 'mppx/server/core'
import { getAddress, keccak256, stringToHex } from 'viem'
import { formatUsd } from '../../../../core/money'
import { bindingText } from '../../../../core/payments/binding'
import type { Offer, Resource, Terms } from '../../../../core/payments/method'
import { networkInV1 } from '../../../../core/x402-networks'
import { ChallengeWriter, opaqueOf } from '../challenge-writer'
import { bazaarExtension, outputSchemaInV1 } from '../discovery'
import { FirstOfKind } from '../first-of-kind'
import { chainReason } from '../refusals'
import { payloadOf } from './eip3009'
import { type EvmCredential, pendingX402 } from './evm-credential'

export interface WireOptions {
  readonly chainId: number
  readonly token: string
  /** Name and version of the token's signing domain (EIP-712). */
  readonly tokenName: string
  readonly tokenVersion: string
  readonly decimals: number
  readonly recipient: string
  /** Signs the challenges; at least 32 bytes. */
  readonly secret: string
  /** The public host name in challenges. */
  readonly realm: string
  /** Public origin, for the resource URL in x402 offers. */
  readonly origin: string
}

/** How long an x402 payment is valid after it is signed. */
const X402_LIFE_SECONDS = 300

/** Uses the library for offers in all wire formats and for all checks of a credential that do not need the chain. */
export function evmWire(options: WireOptions) {
  const charge = evm.charge({
    chainId: options.chainId,
    decimals: options.decimals,
    currency: getAddress(options.token),
    recipient: getAddress(options.recipient),
    authorization: { name: options.tokenName, version: options.tokenVersion },
    x402: { maxTimeoutSeconds: X402_LIFE_SECONDS },
    // The library verifies. The gateway sends, so that it can send a payment again if the node's response was lost.
    settle: () => Promise.reject(new Error('payments are sent by the gateway itself')),
  })
  const { transport } = charge
  const bind = transport?.bindCredential
  if (!transport || !bind)
    throw new Error('the payment library has changed: its evm method has no transport; check its version')
  const signing = { secretKey: options.secret, realm: options.realm, methods: [charge] as const }
  const mppx = Mppx.create(signing)
  // Its challenges ask for the credential in `Payment-Authorization`. Both instances verify either header.
  const besideKey = Mppx.create({ ...signing, requiresAuth: true })
  const writer = new ChallengeWriter(options.secret, (terms) => challengeOf(terms))
  const requirements = new RequirementWriter(async (terms) => {
    const challenge = await challengeOf(terms)
    const { headers } = await transport.respondChallenge({ challenge, input: publicly(terms.resource) })
    return headers.get('payment-required') ?? ''
  })
  const challengeOf = ({ amount, description, binding, besideKey: beside }: Terms) =>
    (beside ? besideKey : mppx).challenge.evm.charge({
      amount: formatUsd(amount),
      description,
      meta: { ...binding },
    })
  const publicUrl = ({ url }: Resource): string => {
    const { pathname, search } = new URL(url, options.origin)
    return options.origin + pathname + search
  }
  const publicly = (resource: Resource) => new Request(publicUrl(resource), { method: resource.method })
  const network = networkInV1(options.chainId)
  /** The credential as an x402 payment of version 2 without an echo. */
  const asX402 = async (evmCredential: EvmCredential, terms: Terms) =>
    pendingX402(paymentInV2(evmCredential, await requirements.accepted(terms), publicUrl(terms.resource)), charge)
  /** x402 does not echo our challenge, so a payment is compared with the challenge that this request would get. */
  const bound = async (evmCredential: EvmCredential, terms: Terms) => {
    const { form, binding } = evmCredential
    const isListed = isNamedByList(evmCredential)
    if (form === 'payment' && !isListed) return evmCredential.credential
    if (form !== 'payment' && binding && bindingText(binding) !== bindingText(terms.binding))
      throw new Errors.InvalidChallengeError({ reason: 'the payment was made for a different request' })
    if (form === 'x402-v1' && (network === null || evmCredential.network !== network))
      throw new Errors.InvalidChallengeError({ reason: 'the payment is for a different network' })
    const isEchoed = form === 'x402' && evmCredential.namesResource === true
    const credential = isEchoed ? evmCredential.credential : await asX402(evmCredential, terms)
    // The library verifies that it made the echoed challenge, as for every credential of the `Payment` scheme.
    const echoed = isListed ? evmCredential.credential?.challenge : undefined
    const challenge = echoed ?? (await challengeOf({ ...terms, besideKey: false }))
    try {
      if (!credential) throw new Error('the payment cannot be read')
      return await bind({ challenge, credential, input: publicly(terms.resource) })
    } catch (error) {
      throw new Errors.InvalidChallengeError({ reason: chainReason(error) })
    }
  }
  return {
    charge,
    async offer(terms: Terms): Promise<Offer> {
      const { challengeId, challenge } = await writer.write(terms)
      const url = publicUrl(terms.resource)
      const more = { 'payment-required': await requirements.write(terms, url) }
      if (network === null) return { method: 'evm', challengeId, challenge, more }
      const body = offerInV1(network, await requirements.accepted(terms), terms, url)
      return { method: 'evm', challengeId, challenge, more, body }
    },
    /** Verifies the challenge, the terms, the times and the signature. Throws one of the library's errors when one is wrong. */
    async verify(evmCredential: EvmCredential, terms: Terms): Promise<void> {
      const credential = (await bound(evmCredential, terms)) as Parameters<typeof mppx.validateCredential>[0]
      const request = { amount: formatUsd(terms.amount) }
      await mppx.validateCredential(credential, { meta: { ...terms.binding }, request })
    },
  }
}

/**
 * Whether an authorization names its challenge by the hash of `["id","realm"]`, as clients in Python do. The library only knows the hash
 * of id and realm in one string, and does not compare the nonce of an x402 payment.
 */
function isNamedByList({ form, credential, authorization }: EvmCredential): boolean {
  if (form !== 'payment' || !credential) return false
  const { id, realm } = credential.challenge
  return authorization.nonce === keccak256(stringToHex(JSON.stringify([id, realm])))
}

/** The parts of an x402 offer that differ between two requests of the same price. */
interface Required {
  readonly accepts: readonly Accepted[]
  readonly resource: { readonly url: string }
  readonly extensions: { readonly mppx: { readonly info: Readonly<Record<string, string>> } }
}

/**
 * Writes x402 offers (`PAYMENT-REQUIRED`). The library makes the first one for each price. In the following ones, only the resource
 * URL and the binding are replaced here, because the library validates its own offer again each time.
 */
class RequirementWriter {
  private readonly first: (terms: Terms) => Promise<string>
  private readonly prices = new FirstOfKind<Required>()

  constructor(first: (terms: Terms) => Promise<string>) {
    this.first = first
  }

  async write(terms: Terms, url: string): Promise<string> {
    const { extensions, ...known } = await this.required(terms)
    const info = { ...extensions.mppx.info, method: terms.resource.method, opaque: opaqueOf(terms.binding) }
    const offer = {
      ...known,
      resource: { url },
      extensions: { mppx: { ...extensions.mppx, info }, ...bazaarExtension(terms, url) },
    }
    return Buffer.from(JSON.stringify(offer)).toString('base64')
  }

  /** The terms that a payment of this price must accept. */
  async accepted(terms: Terms): Promise<Accepted> {
    const [accepted] = (await this.required(terms)).accepts
    if (!accepted) throw new Error('the payment library has changed: its x402 offer accepts nothing; check its version')
    return accepted
  }

  private required(terms: Terms): Promise<Required> {
    return this.prices.of(String(terms.amount), async () =>
      JSON.parse(Buffer.from(await this.first(terms), 'base64').toString()),
    )
  }
}

/** An entry of `accepts` in an x402 offer of version 2. */
interface Accepted {
  readonly amount: string
  readonly asset: string
  readonly payTo: string
  readonly maxTimeoutSeconds: number
  readonly extra: { readonly name: string; readonly version: string }
}

/** The part of a 402's body for clients of version 1, from an offer of version 2. */
function offerInV1(
  network: string,
  { amount, asset, payTo, maxTimeoutSeconds, extra: { name, version } }: Accepted,
  terms: Terms,
  url: string,
): Readonly<Record<string, unknown>> {
  const requirement = {
    scheme: 'exact',
    network,
    maxAmountRequired: amount,
    resource: url,
    description: terms.description,
    mimeType: 'application/json',
    outputSchema: outputSchemaInV1(terms),
    payTo,
    maxTimeoutSeconds,
    asset,
    extra: { name, version },
  }
  return { x402Version: 1, accepts: [requirement] }
}

/** The payment that a client of version 2 would send with this authorization, as header text. */
function paymentInV2({ authorization }: EvmCredential, accepted: Accepted, url: string): string {
  const payment = { x402Version: 2, accepted, resource: { url }, payload: payloadOf(authorization) }
  return Buffer.from(JSON.stringify(payment)).toString('base64')
}
