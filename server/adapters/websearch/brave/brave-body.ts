import { isJson } from '../../../core/json'
import type { ProviderAnswer } from '../../../core/providers/provider'
import { jsonOf, member } from '../json-body'

/** An image answer as it came, if it is one; null otherwise. */
export function imageBody(bytes: Uint8Array<ArrayBuffer>): ProviderAnswer | null {
  return Array.isArray(member(jsonOf(bytes), 'results')) ? { body: bytes } : null
}

/**
 * A context answer as it came, if it is one; null otherwise. Brave's has no `query`, which the specification (2.5) wants:
 * it is put in front, and not a byte of the rest is touched.
 */
export function contextBody(bytes: Uint8Array<ArrayBuffer>, q: string): ProviderAnswer | null {
  const value = jsonOf(bytes)
  if (!isContext(value)) return null
  if (isJson(member(value, 'query'))) return { body: bytes }
  const text = new TextDecoder().decode(bytes)
  return { body: `{"query":${JSON.stringify({ original: q })},${text.slice(text.indexOf('{') + 1)}` }
}

function isContext(body: unknown): boolean {
  const isGrounded = Array.isArray(member(member(body, 'grounding'), 'generic'))
  return isGrounded && isJson(member(body, 'sources')) && member(body, 'error') === undefined
}
