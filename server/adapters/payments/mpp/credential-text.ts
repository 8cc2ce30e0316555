import { Credential } from 'mppx'
import { type Binding, digestOf } from '../../../core/payments/binding'
import type { ShownPayment } from '../../../core/payments/method'
import type { PaymentRefusal } from '../../../core/payments/refusal'
import { no, ok, type Result } from '../../../core/result'

type AnyCredential = Credential.Credential

/** A credential of the `Payment` scheme for this method; null when it names another one. */
export function readPaymentScheme(
  shown: ShownPayment,
  method: string,
): Result<{ credential: AnyCredential; hash: string; binding: Binding | null }, PaymentRefusal> | null {
  if (shown.scheme !== 'payment') return null
  try {
    const credential = Credential.deserialize(`Payment ${shown.text}`)
    if (credential.challenge.method !== method) return null
    return ok({ credential, hash: digestOf(shown.text), binding: bindingIn(credential) })
  } catch {
    return no({
      code: 'malformed_credential',
      reason: 'The credential is not base64url of the JSON that it should be.',
    })
  }
}

/** What the challenge was bound to, as the credential repeats it. */
function bindingIn({ challenge }: AnyCredential): Binding | null {
  return challenge.meta ?? (typeof challenge.opaque === 'string' ? decodedBinding(challenge.opaque) : null)
}

/** The binding in the wire form of it; null when it is none. */
export function decodedBinding(opaque: string): Binding | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(opaque, 'base64url').toString())
    const isBinding =
      typeof value === 'object' && value !== null && Object.values(value).every((member) => typeof member === 'string')
    return isBinding ? (value as Binding) : null
  } catch {
    return null
  }
}
