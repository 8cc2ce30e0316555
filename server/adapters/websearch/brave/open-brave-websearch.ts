import type { ImageSearchInput } from '../../../core/catalog/image-search'
import type { LlmContextInput } from '../../../core/catalog/llm-context'
import type { Clock } from '../../../core/clock'
import { isJson, member, parsedJsonBytes } from '../../../core/json'
import type { OutboundFetch, OutboundRequest } from '../../../core/outbound/outbound-fetch'
import type { CallOrigin, Provider, ProviderAnswer, UpstreamFailure } from '../../../core/providers/provider'
import { err, ok, type Result } from '../../../core/result'
import { RecentHealth } from '../recent-health'
import { upstreamFailure } from '../upstream-failure'
import { braveFailure } from './brave-failure'
import { type BraveAccess, contextRequest, imageRequest } from './brave-request'

export interface BraveWebsearchOptions extends BraveAccess {
  readonly fetch: OutboundFetch
  readonly clock: Clock
}

interface BraveWebsearch {
  readonly images: Provider<ImageSearchInput>
  readonly context: Provider<LlmContextInput>
}

/** The cap of an upstream's answer (spec D2). */
const MAX_BYTES = 16 * 1024 * 1024

type Wire = Pick<OutboundRequest, 'url' | 'method' | 'headers' | 'body'>
type Answer = Result<ProviderAnswer, UpstreamFailure>

/** The `brave` websearch provider: Brave's Search API, whose response bodies are passed through. */
export function openBraveWebsearch(options: BraveWebsearchOptions): BraveWebsearch {
  const health = new RecentHealth(options.clock)
  const ready = async () => health.isGood()
  return {
    images: {
      name: 'brave',
      ready,
      call: async (input, signal, origin) =>
        health.noted(await ask(traced(imageRequest(input, options), origin), braveImageBody, options, signal), signal),
    },
    context: {
      name: 'brave',
      ready,
      call: async (input, signal, origin) => {
        const read = (bytes: Uint8Array<ArrayBuffer>) => braveContextBody(bytes, input.q)
        return health.noted(await ask(traced(contextRequest(input, options), origin), read, options, signal), signal)
      },
    },
  }
}

function traced(wire: Wire, { traceparent }: CallOrigin): Wire {
  return traceparent === null ? wire : { ...wire, headers: { ...wire.headers, traceparent } }
}

async function ask(
  wire: Wire,
  read: (bytes: Uint8Array<ArrayBuffer>) => ProviderAnswer | null,
  { fetch, apiKey }: BraveWebsearchOptions,
  signal: AbortSignal,
): Promise<Answer> {
  // The call's own deadline is in its signal.
  const fetched = await fetch({ ...wire, signal, timeoutMs: Number.POSITIVE_INFINITY, maxBytes: MAX_BYTES })
  if (!fetched.ok) return err(upstreamFailure('brave', fetched.error))
  if (fetched.value.status !== 200) return err(braveFailure(fetched.value, apiKey))
  const answer = read(fetched.value.body)
  return answer ? ok(answer) : err({ kind: 'error', reason: 'brave: 200 with an unreadable body' })
}

/** An image response, unchanged; null if it is not one. */
function braveImageBody(bytes: Uint8Array<ArrayBuffer>): ProviderAnswer | null {
  return Array.isArray(member(parsedJsonBytes(bytes), 'results')) ? { body: bytes } : null
}

/**
 * A context response; null if it is not one. Brave's has no `query`, which the specification (2.5) requires, so it is inserted at the
 * front. The rest is unchanged.
 */
function braveContextBody(bytes: Uint8Array<ArrayBuffer>, q: string): ProviderAnswer | null {
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
