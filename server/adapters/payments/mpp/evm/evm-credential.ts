import type { Credential } from 'mppx'
import type { evm } from 'mppx/server'
import { member } from '../../../../core/json'
import { type Binding, digestOf } from '../../../../core/payments/binding'
import type { ShownPayment } from '../../../../core/payments/method'
import type { PaymentRefusal } from '../../../../core/payments/refusal'
import { err, ok, type Result } from '../../../../core/result'
import { credentialJson, decodedBinding, isCredentialText, readPaymentCredential } from '../credential-text'
import { type Authorization, authorizationIn } from './eip3009'

/** An authorization in one of its wire formats. */
export interface EvmCredential {
  /** `x402-v1`: version 1 of x402, which echoes nothing of the offer. */
  readonly form: ShownPayment['scheme'] | 'x402-v1'
  readonly authorization: Authorization
  /** The binding that it claims. x402 clients echo the one of the offer, or send none. */
  readonly binding: Binding | null
  /** Whether the payer's signature covers the binding. If not, anyone who has the authorization could have changed it. Set by the wire. */
  readonly isSignedFor: boolean
  readonly hash: string
  /** In the library's format. For x402, without a challenge yet. Null for version 1, which the library does not know. */
  readonly credential: Credential.Credential | null
  /** The listing for directories of a payment of version 2, which has echoed our extension for it. */
  readonly listed?: { readonly method: string; readonly pathname: string } | null
  /** Whether a payment of version 2 names the resource, which is optional (x402 v2, 5.2.2). */
  readonly namesResource?: boolean
  /** The network that a payment of version 1 names. */
  readonly network?: string
}

export function isOfX402({ form }: EvmCredential): boolean {
  return form !== 'payment'
}

/** Parses a credential that contains an authorization; null if it names another method. */
export function readEvmCredential(
  shown: ShownPayment,
  charge: ReturnType<typeof evm.charge>,
): Result<EvmCredential, PaymentRefusal> | null {
  return shown.scheme === 'x402' ? readX402(shown.text, charge) : readPayment(shown)
}

function readPayment(shown: ShownPayment): Result<EvmCredential, PaymentRefusal> | null {
  const read = readPaymentCredential(shown, 'evm')
  if (!read?.ok) return read
  const authorization = authorizationIn(read.value.credential.payload)
  return authorization ? ok({ ...read.value, form: 'payment', isSignedFor: true, authorization }) : NOT_AN_AUTHORIZATION
}

function readX402(text: string, charge: ReturnType<typeof evm.charge>): Result<EvmCredential, PaymentRefusal> {
  const inV1 = readX402V1(text)
  if (inV1) return inV1
  const payment = credentialJson(text)
  const namesResource = member(payment, 'resource') != null
  const credential = pendingX402(namesResource ? text : withoutResource(payment), charge)
  if (!credential) return NOT_X402
  const authorization = signedIn(credential.payload)
  if (!authorization) return NOT_AN_AUTHORIZATION
  const extension = member(member(member(credential.payload, 'extensions'), 'mppx'), 'info')
  const opaque = member(extension, 'opaque')
  const binding = typeof opaque === 'string' ? decodedBinding(opaque) : null
  // The payer signed the echo only if it has its own nonce.
  const isSignedFor = binding !== null && typeof member(extension, 'nonce') === 'string'
  const listed = listedIn(payment)
  const hash = digestOf(text)
  return ok({ form: 'x402', authorization, binding, isSignedFor, hash, credential, listed, namesResource })
}

/** The library reads no resource of null. */
function withoutResource(payment: unknown): string {
  const { resource: _, ...rest } = Object(payment)
  return Buffer.from(JSON.stringify(rest)).toString('base64')
}

/** A payment of version 1; null if the text is not one. */
function readX402V1(text: string): Result<EvmCredential, PaymentRefusal> | null {
  const payment = credentialJson(text)
  if (member(payment, 'x402Version') !== 1) return null
  const [scheme, network] = [member(payment, 'scheme'), member(payment, 'network')]
  if (typeof scheme !== 'string' || typeof network !== 'string') return NOT_X402
  const authorization = scheme === 'exact' ? signedIn(payment) : null
  if (!authorization) return NOT_AN_AUTHORIZATION
  const echo = { binding: null, isSignedFor: false, credential: null }
  return ok({ form: 'x402-v1', authorization, network, ...echo, hash: digestOf(text) })
}

/** The route of a payment. Its URL is compared with the request's before the payment counts. */
function listedIn(payment: unknown): NonNullable<EvmCredential['listed']> | null {
  const url = member(member(payment, 'resource'), 'url')
  const input = member(member(member(member(payment, 'extensions'), 'bazaar'), 'info'), 'input')
  const name = member(input, 'method')
  const pathname = typeof url === 'string' ? URL.parse(url)?.pathname : undefined
  return pathname !== undefined && typeof name === 'string' && METHODS.has(name) ? { method: name, pathname } : null
}

const METHODS: ReadonlySet<string> = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])

/** The authorization in an x402 payment of either version. */
function signedIn(payment: unknown): Authorization | null {
  const sent = member(payment, 'payload')
  return authorizationIn({ ...Object(member(sent, 'authorization')), signature: member(sent, 'signature') })
}

/** A payment of x402 version 2 in the library's format, which reads it from a request but only uses its header. */
export function pendingX402(text: string, { transport }: ReturnType<typeof evm.charge>) {
  try {
    if (!isCredentialText(text)) return null
    const request = new Request('http://localhost', { headers: { 'payment-signature': text } })
    return transport?.getCredential(request) ?? null
  } catch {
    return null
  }
}

const NOT_X402 = err({
  code: 'malformed_credential',
  reason: 'PAYMENT-SIGNATURE or X-PAYMENT is not a base64-encoded x402 payment.',
} satisfies PaymentRefusal)

const NOT_AN_AUTHORIZATION = err({
  code: 'invalid_payload',
  reason: 'The payment must be a signed authorization of a transfer (EIP-3009).',
} satisfies PaymentRefusal)
