import { isJson, member, parsedJsonBytes } from '../../../core/json'
import type { ProviderAnswer } from '../../../core/providers/provider'

/** An image response, unchanged; null if it is not one. */
export function braveImageBody(bytes: Uint8Array<ArrayBuffer>): ProviderAnswer | null {
  return Array.isArray(member(parsedJsonBytes(bytes), 'results')) ? { body: bytes } : null
}

/**
 * A context response; null if it is not one. Brave's has no `query`, which the specification (2.5) requires, so it is inserted at the
 * front. The rest is unchanged.
 */
export function braveContextBody(bytes: Uint8Array<ArrayBuffer>, q: string): ProviderAnswer | null {
  const value = parsedJsonBytes(bytes)
  if (!isContext(value)) return null
  if (isJson(member(value, 'query'))) return { body: bytes }
  const text = new TextDecoder().decode(bytes)
  return { body: `{"query":${JSON.stringify({ original: q })},${text.slice(text.indexOf('{') + 1)}` }
}

function isContext(body: unknown): boolean {
  const isGrounded = Array.isArray(member(member(body, 'grounding'), 'generic'))
  return isGrounded && isJson(member(body, 'sources')) && member(body, 'error') === undefined
}
