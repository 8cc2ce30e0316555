import { Errors } from 'mppx'
import { evm } from 'mppx/evm/server'
import { Mppx } from 'mppx/server/core'
import { getAddress } from 'viem'
import { formatUsd } from '../../../core/money'
import { bindingText } from '../../../core/payments/binding'
import type { Offer, Resource, Terms } from '../../../core/payments/method'
import { ChallengeWriter } from './challenge-writer'
import type { EvmCredential } from './evm-credential'
import { reasonOf } from './refusals'
import { RequirementWriter } from './requirement-writer'

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

/** Uses the library for offers in both wire formats and for all checks of a credential that do not need the chain. */
export function evmWire(options: WireOptions) {
  const charge = evm.charge({
    ...{ chainId: options.chainId, decimals: options.decimals },
    ...{ currency: getAddress(options.token), recipient: getAddress(options.recipient) },
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
  /** x402 does not echo our challenge, so a payment is compared with the challenge that this request would get. */
  const bound = async ({ credential, form, binding }: EvmCredential, terms: Terms) => {
    if (form === 'payment') return credential
    if (binding && bindingText(binding) !== bindingText(terms.binding))
      throw new Errors.InvalidChallengeError({ reason: 'the payment was made for a different request' })
    const challenge = await challengeOf({ ...terms, besideKey: false })
    try {
      return await bind({ challenge, credential, input: publicly(terms.resource) })
    } catch (error) {
      throw new Errors.InvalidChallengeError({ reason: reasonOf(error) })
    }
  }
  return {
    charge,
    async offer(terms: Terms): Promise<Offer> {
      const { challengeId, challenge } = await writer.write(terms)
      const more = { 'payment-required': await requirements.write(terms, publicUrl(terms.resource)) }
      return { method: 'evm', challengeId, challenge, more }
    },
    /** Verifies the challenge, the terms, the times and the signature. Throws one of the library's errors when one is wrong. */
    async verify(evmCredential: EvmCredential, terms: Terms): Promise<void> {
      const credential = (await bound(evmCredential, terms)) as Parameters<typeof mppx.validateCredential>[0]
      const request = { amount: formatUsd(terms.amount) }
      await mppx.validateCredential(credential, { meta: { ...terms.binding }, request })
    },
  }
}
