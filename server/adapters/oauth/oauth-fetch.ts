import type { CustomFetch } from 'openid-client'
import type { OutboundFetch } from '../../core/outbound/outbound-fetch'

const MAX_BYTES = 256 * 1024

class NoAnswer extends Error {
  readonly code: string

  constructor(code: string) {
    super('the other side could not be reached')
    this.code = code
  }
}

/** The guarded way out, as the OAuth client calls a fetch. Follows no redirect. */
export function oauthFetch(fetch: OutboundFetch, timeoutMs: number): CustomFetch {
  return async (url, { method, headers, body }) => {
    const answer = await fetch({
      url,
      method: method === 'POST' ? 'POST' : 'GET',
      headers,
      ...(body instanceof URLSearchParams && { body: body.toString() }),
      timeoutMs,
      maxBytes: MAX_BYTES,
    })
    if (!answer.ok) throw new NoAnswer(answer.error.kind)
    const { status, contentType, body: bytes } = answer.value
    return new Response([204, 205, 304].includes(status) ? null : bytes, {
      status,
      headers: { 'content-type': contentType },
    })
  }
}

/** Why the OAuth client failed, by code only: a message may repeat what the other side sent. */
export function codeOf(error: unknown): string {
  const inner = error instanceof Error && error.cause instanceof NoAnswer ? error.cause : error
  const code: unknown = Object(inner).code
  return typeof code === 'string' ? code.slice(0, 60) : 'failed'
}
