import { isJson, jsonText, member } from '../core/json'
import { CREDENTIAL_BOUNDS, isValueWithin } from '../core/json-bounds'
import type { ShownPayment } from '../core/payments/method'
import { INVALID_PARAMS, ProtocolError } from './protocol-error'
import type { ToolAnswer } from './tool-result'

/** Names in `_meta` and codes of the `Payment` scheme over JSON-RPC (spec D10). */
const CREDENTIAL = 'org.paymentauth/credential'
const RECEIPT = 'org.paymentauth/receipt'
const REQUIRED = 'org.paymentauth/payment-required'
const PAYMENT_REQUIRED = -32042
const PAYMENT_REFUSED = -32043

/**
 * The payment in a `tools/call`, converted to its HTTP form so that one place checks its binding, single use and outcome. Null if
 * there is none. Anything that is not a credential is refused there as malformed.
 */
export function paymentIn(message: unknown): ShownPayment | null {
  const shown = Object(member(Object(member(message, 'params')), '_meta'))
  return Object.hasOwn(shown, CREDENTIAL) ? { scheme: 'payment', text: wireText(Reflect.get(shown, CREDENTIAL)) } : null
}

/** The payment that a client must make before its call can be served. `by` returns null if the response offers none. */
export class PaymentRequired {
  private readonly code: number
  private readonly message: string
  private readonly data: Readonly<Record<string, unknown>>

  private constructor(code: number, message: string, data: Readonly<Record<string, unknown>>) {
    this.code = code
    this.message = message
    this.data = data
  }

  static by({ status, headers, body }: ToolAnswer): PaymentRequired | null {
    const challenges = status === 402 ? challengesIn(headers.get('www-authenticate') ?? '') : []
    if (challenges.length === 0) return null
    const { error: _ours, ...problem } = isJson(body) ? body : {}
    const data = { httpStatus: 402, challenges, problem }
    return new PaymentRequired(codeOf(member(member(body, 'error'), 'code')), jsonText(problem['detail']), data)
  }

  /** The protocol error, for callers that pay per call. */
  error(): ProtocolError {
    return new ProtocolError(this.code, this.message, this.data)
  }

  /** The `_meta` for callers with an account, next to the failure that their model reads. */
  meta(): Record<string, unknown> {
    return { [REQUIRED]: this.data }
  }
}

/** The receipt of a pay-per-request call, for the `_meta` of its result. */
export function receiptMeta(
  { headers }: Pick<ToolAnswer, 'headers'>,
  shown: ShownPayment | null,
): Record<string, unknown> {
  const text = headers.get('payment-receipt')
  if (text === null || shown === null) return {}
  const challengeId = member(member(decoded(shown.text), 'challenge'), 'id')
  return { [RECEIPT]: { ...Object(decoded(text)), challengeId } }
}

function codeOf(code: unknown): number {
  if (code === 'malformed_credential' || code === 'invalid_payload') return INVALID_PARAMS
  return code === 'payment_required' || jsonText(code).startsWith('insufficient_') ? PAYMENT_REQUIRED : PAYMENT_REFUSED
}

/** A credential that is refused as malformed, used in place of an oversized one. */
const OVERSIZED = ''

/** HTTP headers carry the terms as base64url of their JSON; messages carry the JSON itself. */
function wireText(credential: unknown): string {
  if (!isValueWithin(credential, CREDENTIAL_BOUNDS)) return OVERSIZED
  if (!isJson(credential) || !isJson(credential['challenge'])) return encoded(credential)
  const { challenge, payload, source } = credential
  const { request, meta, opaque = isJson(meta) ? encoded(meta) : undefined, ...terms } = challenge
  const wire = { ...terms, ...(opaque !== undefined && { opaque }), request: encoded(request) }
  return encoded({ challenge: wire, payload, ...(source !== undefined && { source }) })
}

/** Encodes equal values equally, whatever the order of their properties: a repeated credential must be identical byte for byte. */
function encoded(value: unknown): string {
  return Buffer.from(JSON.stringify(value ?? null, inOrder)).toString('base64url')
}

function inOrder(_name: string, value: unknown): unknown {
  if (!isJson(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}

function decoded(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString())
  } catch {
    return null
  }
}

/** The challenges of the scheme `Payment` in the values of `WWW-Authenticate` (RFC 9110 11.6.1); others are ignored. */
function challengesIn(header: string): Record<string, unknown>[] {
  const found: Record<string, unknown>[] = []
  for (const [, scheme = '', parameters = ''] of header.matchAll(CHALLENGE)) {
    if (scheme.toLowerCase() !== 'payment') continue
    const challenge = Object.fromEntries(
      [...parameters.matchAll(PARAMETER)].map(([, name = '', value = '']) => [name, value.replace(/\\(.)/g, '$1')]),
    )
    const { request } = challenge
    if (request !== undefined) found.push({ ...challenge, request: decoded(request) })
  }
  return found
}

const PARAMETER = /([\w-]+)="((?:[^"\\]|\\.)*)"/g
const CHALLENGE = /([A-Za-z][\w-]*) +((?:[\w-]+="(?:[^"\\]|\\.)*"(?:, *(?=[\w-]+="))?)+)/g
