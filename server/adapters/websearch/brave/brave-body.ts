import type { ProviderAnswer } from '../../../core/providers/provider'

/** An image answer as it came, if it is one; null otherwise. */
export function imageBody(bytes: Uint8Array<ArrayBuffer>): ProviderAnswer | null {
  const body = parsed(bytes)
  return body && Array.isArray(body.value['results']) ? { body: bytes } : null
}

/**
 * A context answer as it came, if it is one; null otherwise. Brave's has no `query`, which the specification (2.5) wants:
 * it is put in front, and not a byte of the rest is touched.
 */
export function contextBody(bytes: Uint8Array<ArrayBuffer>, q: string): ProviderAnswer | null {
  const body = parsed(bytes)
  if (!body || !isContext(body.value)) return null
  if (isObject(body.value['query'])) return { body: bytes }
  const start = body.text.indexOf('{') + 1
  return { body: `{"query":${JSON.stringify({ original: q })},${body.text.slice(start)}` }
}

function isContext(body: Readonly<Record<string, unknown>>): boolean {
  const grounding = body['grounding']
  return isObject(grounding) && Array.isArray(grounding['generic']) && isObject(body['sources']) && !('error' in body)
}

function parsed(bytes: Uint8Array<ArrayBuffer>): { text: string; value: Readonly<Record<string, unknown>> } | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    const value: unknown = JSON.parse(text)
    return isObject(value) ? { text, value } : null
  } catch {
    return null
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
