import { Credential } from 'mppx'
import { parsedJson } from '../../../core/json'
import { CREDENTIAL_BOUNDS, isWithin } from '../../../core/json-bounds'
import { type Binding, digestOf } from '../../../core/payments/binding'
import type { ShownPayment } from '../../../core/payments/method'
import type { PaymentRefusal } from '../../../core/payments/refusal'
import { err, ok, type Result } from '../../../core/result'

/** Maximum size of a decoded credential (spec D9). */
const MAX_BYTES = 16 * 1024
const MAX_TEXT = Math.ceil((MAX_BYTES * 4) / 3) + 3

type AnyCredential = Credential.Credential

/** A credential of the `Payment` scheme for this method; null if it names another method. */
export function readPaymentCredential(
  shown: ShownPayment,
  method: string,
): Result<{ credential: AnyCredential; hash: string; binding: Binding | null }, PaymentRefusal> | null {
  if (shown.scheme !== 'payment') return null
  try {
    if (!isCredentialText(shown.text)) throw new RangeError('the credential is too long')
    const credential = Credential.deserialize(`Payment ${shown.text}`)
    if (credential.challenge.method !== method) return null
    return ok({ credential, hash: digestOf(shown.text), binding: bindingIn(credential) })
  } catch {
    return err({
      code: 'malformed_credential',
      reason: 'The credential is not base64url-encoded JSON of the expected form.',
    })
  }
}

/** Whether the size and depth of a base64 text are those of a credential, including its challenge. Called before any parsing. */
export function isCredentialText(text: string): boolean {
  const json = boundedJson(text)
  if (json === null) return false
  const terms = Object(Object(JSON.parse(json)).challenge).request
  return typeof terms !== 'string' || boundedJson(terms) !== null
}

/** The JSON in a base64 text; null if it is larger or deeper than a credential can be. */
function boundedJson(text: string): string | null {
  if (text.length > MAX_TEXT || !/^[\w+/-]*={0,2}$/.test(text)) return null
  const bytes = Buffer.from(text, 'base64url')
  return bytes.length <= MAX_BYTES && isWithin(bytes, CREDENTIAL_BOUNDS) ? bytes.toString() : null
}

/** The value of the JSON in a base64 text; undefined if it is not JSON, or larger or deeper than a credential can be. */
export function credentialJson(text: string): unknown {
  return parsedJson(boundedJson(text) ?? '')
}

/** The binding of the challenge, as repeated in the credential. */
function bindingIn({ challenge }: AnyCredential): Binding | null {
  return challenge.meta ?? (typeof challenge.opaque === 'string' ? decodedBinding(challenge.opaque) : null)
}

/** Parses the wire format of a binding; null if it is invalid. */
export function decodedBinding(opaque: string): Binding | null {
  const value = credentialJson(opaque)
  const isBinding =
    typeof value === 'object' && value !== null && Object.values(value).every((one) => typeof one === 'string')
  return isBinding ? (value as Binding) : null
}
