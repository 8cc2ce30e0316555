import { EventSourceParserStream } from 'eventsource-parser/stream'
import { api, unwrap } from '../client/client.ts'
import { ApiFailure, noResponse, parseFailure, toApiFailure } from '../client/failure.ts'
import { randomId } from '../client/random-id.ts'
import { CHAT_WIRES, type ChatChunk, type ChatRequest, type EndpointType, parseChunk } from './chat-wires.ts'
import { type Payer, sendTryCall } from './try-call.ts'

/** How a call of a model ended. */
export interface ChatCompletion {
  /** The request id, by which the call can be found however it ended. */
  readonly id: string
  readonly text: string
  readonly capped: boolean
  readonly stopped: boolean
  readonly failure: ApiFailure | null
  readonly ms: number
  /** Time to the first text; null if there was none. */
  readonly firstMs: number | null
}

/**
 * Sends a request to a model and reports its response as it arrives. Never rejects: the result also covers refusals, failures
 * within the stream, and the caller's own stop through `signal`, which the gateway forwards to the model.
 */
export async function sendChat(
  type: EndpointType,
  request: ChatRequest,
  payer: Payer,
  watch: { readonly signal: AbortSignal; readonly onText: (text: string) => void },
): Promise<ChatCompletion> {
  const wire = CHAT_WIRES[type]
  // Chosen here, so that a call that is stopped before its response can be found too.
  const id = `playground-${randomId()}`
  const startedAt = performance.now()
  const elapsed = () => Math.round(performance.now() - startedAt)
  const seen = { text: '', capped: false, failure: null as ApiFailure | null, firstMs: null as number | null }
  const take = ({ text, capped, failure }: ChatChunk) => {
    if (text !== '') seen.firstMs ??= elapsed()
    seen.text += text
    seen.capped ||= capped
    seen.failure ??= failure
    if (text !== '') watch.onText(seen.text)
  }
  try {
    const call = {
      method: 'POST',
      path: wire.path(request),
      headers: { 'x-request-id': id },
      body: wire.body(request),
      payer,
    } as const
    const response = await sendTryCall(call, watch.signal)
    for await (const json of readChunks(response)) take(parseChunk(type, json))
  } catch (error) {
    if (!watch.signal.aborted) seen.failure = error instanceof ApiFailure ? error : noResponse()
  }
  return { id, ...seen, stopped: watch.signal.aborted, ms: elapsed() }
}

/** The JSON of each event of a stream, or of a complete response. Throws `ApiFailure` if the call failed. */
async function* readChunks(response: Response): AsyncGenerator<unknown, void> {
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
  if (!response.ok || !isStream || !response.body) {
    const body: unknown = await response.json().catch(() => null)
    if (!response.ok || body === null) throw parseFailure(response.status, body, response.headers.get('retry-after'))
    yield body
    return
  }
  const events = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())
  const reader = events.getReader()
  for (let next = await reader.read(); !next.done; next = await reader.read())
    if (next.value.data !== '[DONE]') yield JSON.parse(next.value.data)
}

export type RecordedCall = Awaited<ReturnType<typeof fetchRecordedCall>>

function fetchRecordedCall(id: string) {
  return unwrap(api.requests({ id }).get())
}

const TRIES = 40
const PAUSE_MS = 250

/**
 * The recorded call: available right after its last byte, or shortly after it was stopped. Null if it was not found within ten
 * seconds. For a pasted key, it is looked up with that key, which may belong to another account.
 */
export async function findRecordedCall(payer: Payer, id: string): Promise<RecordedCall | null> {
  for (let tries = 0; tries < TRIES; tries++) {
    try {
      return await (payer.kind === 'pasted_key' ? fetchRecordedCallByKey(payer.secret, id) : fetchRecordedCall(id))
    } catch (error) {
      if (toApiFailure(error).status !== 404) return null
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }
  return null
}

async function fetchRecordedCallByKey(secret: string, id: string): Promise<RecordedCall> {
  const response = await fetch(`/v1/usage/${encodeURIComponent(id)}`, {
    credentials: 'omit',
    headers: { authorization: `Bearer ${secret}` },
  })
  if (!response.ok) throw parseFailure(response.status, await response.json().catch(() => null))
  return response.json()
}
