import type { ImageSearchInput } from '../../../core/catalog/image-search'
import type { LlmContextInput } from '../../../core/catalog/llm-context'
import type { Clock } from '../../../core/clock'
import { isJson, member, parsedJsonBytes } from '../../../core/json'
import type { OutboundAnswer, OutboundFetch, OutboundRequest } from '../../../core/outbound/outbound-fetch'
import type { CallOrigin, Provider, ProviderAnswer, UpstreamFailure } from '../../../core/providers/provider'
import { err, ok, type Result } from '../../../core/result'
import { RecentHealth } from '../recent-health'
import { upstreamFailure } from '../upstream-failure'
import { braveFailure } from './brave-failure'

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
type ReadBody = (bytes: Uint8Array<ArrayBuffer>, query: string) => ProviderAnswer | null
type Answer = Result<ProviderAnswer, UpstreamFailure>

/** The `brave` websearch provider: Brave's Search API, whose response bodies are passed through. */
export function openBraveWebsearch(options: BraveWebsearchOptions): BraveWebsearch {
  const health = new RecentHealth(options.clock)
  const ready = async () => health.isGood()
  const ask = async (wire: Wire, read: ReadBody, signal: AbortSignal, query: string): Promise<Answer> => {
    // The call's own deadline is in its signal.
    const request = { ...wire, signal, timeoutMs: Number.POSITIVE_INFINITY, maxBytes: MAX_BYTES }
    const fetched = await options.fetch(request)
    const answer = fetched.ok
      ? answerOf(fetched.value, read, query, options)
      : err(upstreamFailure('brave', fetched.error))
    return health.noted(answer, signal)
  }
  return {
    images: {
      name: 'brave',
      ready,
      call: (input, signal, origin) => ask(imageRequest(input, options, origin), braveImageBody, signal, input.q),
    },
    context: {
      name: 'brave',
      ready,
      call: (input, signal, origin) => ask(contextRequest(input, options, origin), braveContextBody, signal, input.q),
    },
  }
}

function answerOf(fetched: OutboundAnswer, read: ReadBody, query: string, { apiKey }: BraveAccess): Answer {
  if (fetched.status !== 200) return err(braveFailure(fetched, apiKey))
  const answer = read(fetched.body, query)
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

/** The service's URL and our credential. */
interface BraveAccess {
  /** Without a slash at the end. */
  readonly baseUrl: string
  readonly apiKey: string
}

const IMAGES_PATH = '/res/v1/images/search'
const CONTEXT_PATH = '/res/v1/llm/context'
/** A longer query is sent as a body: inline goggles can exceed the URL length that servers accept. */
const MAX_QUERY_CHARACTERS = 3000
const LOCATION_HEADERS = [
  'x-loc-lat',
  'x-loc-long',
  'x-loc-city',
  'x-loc-state',
  'x-loc-state-name',
  'x-loc-country',
  'x-loc-postal-code',
] as const

/**
 * An image search on the wire.
 * https://api-dashboard.search.brave.com/api-reference/images/image_search
 */
function imageRequest(input: ImageSearchInput, access: BraveAccess, origin: CallOrigin): Wire {
  const query = new URLSearchParams({
    q: input.q,
    country: input.country,
    search_lang: language(input.search_lang),
    count: String(input.count),
    safesearch: input.safesearch,
    spellcheck: String(input.spellcheck),
  })
  return {
    url: `${access.baseUrl}${IMAGES_PATH}?${query}`,
    method: 'GET',
    headers: commonHeaders(input, access, origin),
  }
}

/**
 * An LLM context search on the wire. Parameters that the caller omitted are omitted, so that Brave's defaults apply.
 * https://api-dashboard.search.brave.com/api-reference/summarizer/llm_context/get
 */
function contextRequest(input: LlmContextInput, access: BraveAccess, origin: CallOrigin): Wire {
  const headers = commonHeaders(input, access, origin)
  addLocation(headers, input)
  const fields = contextFields(input)
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(fields))
    for (const one of Array.isArray(value) ? value : [value]) query.append(name, String(one))
  const url = `${access.baseUrl}${CONTEXT_PATH}`
  if (query.toString().length <= MAX_QUERY_CHARACTERS) return { url: `${url}?${query}`, method: 'GET', headers }
  return {
    url,
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(fields),
  }
}

function contextFields(
  input: LlmContextInput,
): Readonly<Record<string, string | number | boolean | readonly string[]>> {
  const local = localRecall(input)
  return {
    q: input.q,
    country: input.country,
    search_lang: language(input.search_lang),
    count: input.count,
    spellcheck: input.spellcheck,
    maximum_number_of_urls: input.maximum_number_of_urls,
    maximum_number_of_tokens: input.maximum_number_of_tokens,
    maximum_number_of_tokens_per_url: input.maximum_number_of_tokens_per_url,
    maximum_number_of_snippets: input.maximum_number_of_snippets,
    maximum_number_of_snippets_per_url: input.maximum_number_of_snippets_per_url,
    enable_source_metadata: input.enable_source_metadata,
    ...(input.context_threshold_mode && { context_threshold_mode: input.context_threshold_mode }),
    ...(input.freshness && { freshness: input.freshness }),
    ...(input.safesearch && { safesearch: input.safesearch }),
    ...(input.goggles && { goggles: input.goggles }),
    ...(local !== undefined && { enable_local: local }),
  }
}

/** Brave turns local recall on for any location header, the specification (4.2) only for coordinates or a city. */
function localRecall(input: LlmContextInput): boolean | undefined {
  if (input.enable_local !== undefined) return input.enable_local
  const isAutomatic =
    (input['x-loc-lat'] !== undefined && input['x-loc-long'] !== undefined) || input['x-loc-city'] !== undefined
  const hasLocation = LOCATION_HEADERS.some((name) => input[name] !== undefined)
  return hasLocation && !isAutomatic ? false : undefined
}

function commonHeaders(
  input: ImageSearchInput | LlmContextInput,
  { apiKey }: BraveAccess,
  { traceparent }: CallOrigin,
): Record<string, string> {
  const headers: Record<string, string> = {
    accept: 'application/json',
    'x-subscription-token': apiKey,
    'api-version': input['api-version'],
  }
  const agent = input['user-agent']
  if (agent) headers['user-agent'] = headerText(agent)
  if (input['cache-control']?.trim().toLowerCase() === 'no-cache') headers['cache-control'] = 'no-cache'
  if (traceparent !== null) headers['traceparent'] = traceparent
  return headers
}

function addLocation(headers: Record<string, string>, input: LlmContextInput): void {
  for (const name of LOCATION_HEADERS) {
    const value = input[name]
    if (value !== undefined) headers[name] = headerText(String(value))
  }
}

/** Makes a text valid as a header: without line breaks, and with letters beyond Latin-1 as UTF-8 bytes. */
function headerText(text: string): string {
  const line = text.replace(/[\0\r\n]+/g, ' ')
  return /^[\0-\xff]*$/.test(line) ? line : Buffer.from(line, 'utf8').toString('latin1')
}

/** Both codes are Japanese; `jp` is the one that all of Brave's tables have. */
function language(code: string): string {
  return code === 'ja' ? 'jp' : code
}
