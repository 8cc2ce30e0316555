import type { Credential } from 'mppx'
import type { evm } from 'mppx/server'
import { type Binding, digestOf } from '../../../core/payments/binding'
import type { ShownPayment } from '../../../core/payments/method'
import type { PaymentRefusal } from '../../../core/payments/refusal'
import { err, ok, type Result } from '../../../core/result'
import { decodedBinding, isCredentialText, readPaymentScheme } from './credential-text'
import { type Authorization, authorizationIn } from './eip3009'

/** An authorization in one of its two wire formats. */
export interface EvmCredential {
  readonly form: ShownPayment['scheme']
  readonly authorization: Authorization
  /** The binding that it claims. x402 clients echo the one of the offer, or send none. */
  readonly binding: Binding | null
  /** Whether the payer's signature covers the binding. If not, anyone who has the authorization could have changed it. Set by the wire. */
  readonly isSignedFor: boolean
  readonly hash: string
  /** In the library's format. For x402, without a challenge yet. */
  readonly credential: Credential.Credential
}

export function isOfX402({ form }: EvmCredential): boolean {
  return form === 'x402'
}

/** Parses a credential that contains an authorization; null if it names another method. */
export function readEvmCredential(
  shown: ShownPayment,
  charge: ReturnType<typeof evm.charge>,
): Result<EvmCredential, PaymentRefusal> | null {
  return shown.scheme === 'x402' ? readX402(shown.text, charge) : readPayment(shown)
}

function readPayment(shown: ShownPayment): Result<EvmCredential, PaymentRefusal> | null {
  const read = readPaymentScheme(shown, 'evm')
  if (!read?.ok) return read
  const authorization = authorizationIn(read.value.credential.payload)
  return authorization ? ok({ ...read.value, form: 'payment', isSignedFor: true, authorization }) : NOT_AN_AUTHORIZATION
}

function readX402(text: string, { transport }: ReturnType<typeof evm.charge>): Result<EvmCredential, PaymentRefusal> {
  const credential = pending(text, transport)
  if (!credential)
    return err({
      code: 'malformed_credential',
      reason: 'PAYMENT-SIGNATURE is not a base64-encoded x402 version 2 payment.',
    })
  const sent = Object(member(credential.payload, 'payload'))
  const authorization = authorizationIn({
    ...Object(member(sent, 'authorization')),
    signature: member(sent, 'signature'),
  })
  if (!authorization) return NOT_AN_AUTHORIZATION
  const extension = member(member(member(credential.payload, 'extensions'), 'mppx'), 'info')
  const opaque = member(extension, 'opaque')
  const binding = typeof opaque === 'string' ? decodedBinding(opaque) : null
  // The payer signed the echo only if it has its own nonce.
  const isSignedFor = binding !== null && typeof member(extension, 'nonce') === 'string'
  return ok({ form: 'x402', authorization, binding, isSignedFor, hash: digestOf(text), credential })
}

/** The library reads credentials from a request, but only uses its header. */
function pending(text: string, transport: ReturnType<typeof evm.charge>['transport']) {
  try {
    if (!isCredentialText(text)) return null
    const request = new Request('http://localhost', { headers: { 'payment-signature': text } })
    return transport?.getCredential(request) ?? null
  } catch {
    return null
  }
}

function member(value: unknown, name: string): unknown {
  return Reflect.get(Object(value), name)
}

const NOT_AN_AUTHORIZATION = err({
  code: 'invalid_payload',
  reason: 'The payment must be a signed authorization of a transfer (EIP-3009).',
} satisfies PaymentRefusal)
