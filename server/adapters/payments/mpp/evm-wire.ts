import { Errors } from 'mppx'
import { evm, Mppx } from 'mppx/server'
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
  /** As the token's own signing domain names them (EIP-712). */
  readonly tokenName: string
  readonly tokenVersion: string
  readonly decimals: number
  readonly recipient: string
  /** Signs the challenges; at least 32 bytes. */
  readonly secret: string
  /** The public host name in challenges. */
  readonly realm: string
  /** Public origin, for the address that x402 offers name. */
  readonly origin: string
}

/** How long an x402 payment is valid after it is signed. */
const X402_LIFE_SECONDS = 300

/** The library's part: offers in both wire formats, and every check of a credential that does not need the chain. */
export function evmWire(options: WireOptions) {
  const charge = evm.charge({
    ...{ chainId: options.chainId, decimals: options.decimals },
    ...{ currency: getAddress(options.token), recipient: getAddress(options.recipient) },
    authorization: { name: options.tokenName, version: options.tokenVersion },
    x402: { maxTimeoutSeconds: X402_LIFE_SECONDS },
    // The library verifies; we send, so that a payment whose response was lost can be sent again.
    settle: () => Promise.reject(new Error('payments are sent by the gateway itself')),
  })
  const { transport } = charge
  const bind = transport?.bindCredential
  if (!transport || !bind)
    throw new Error('the payment library has changed: its evm method has no transport; check its version')
  const signing = { secretKey: options.secret, realm: options.realm, methods: [charge] as const }
  const mppx = Mppx.create(signing)
  // Its challenges ask for the credential in `Payment-Authorization`; either instance judges what comes.
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
  /** x402 echoes no challenge of ours, so it is held against the one that this very request would get. */
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
    async judge(evmCredential: EvmCredential, terms: Terms): Promise<void> {
      const credential = (await bound(evmCredential, terms)) as Parameters<typeof mppx.validateCredential>[0]
      const request = { amount: formatUsd(terms.amount) }
      await mppx.validateCredential(credential, { meta: { ...terms.binding }, request })
    },
  }
}
