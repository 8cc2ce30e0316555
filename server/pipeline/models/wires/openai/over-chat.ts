import type { Json } from '../../../../core/json'
import type { ModelUpstream } from '../../../../core/models/model'
import type { ModelRequest } from '../model-request'
import { eventJson, latin1 } from '../sse-events'
import { ChatMeter } from './chat-completions-wire'

const NONE: Uint8Array = new Uint8Array()
const COLON = 0x3a
const UTF8 = new TextEncoder()

/** The chat completion of a call that was read in another format. */
export function chatBodyFor(
  { chat, cap: given, stream, defaults }: ModelRequest,
  { model, capName }: ModelUpstream,
  cap: number,
): Uint8Array<ArrayBuffer> {
  if (!chat || chat.beyond !== null) throw new Error('the call cannot be written as a chat completion')
  const streaming = stream && { stream, stream_options: { include_usage: true } }
  const head = JSON.stringify({ model, [capName]: given ?? cap, ...streaming, ...defaults })
  // Both are objects: the first without its end, then the second without its start.
  return new Uint8Array(Buffer.concat([Buffer.from(`${head.slice(0, -1)},`), chat.body.subarray(1)]))
}

/** Writes a stream of chat completions in another format. */
export interface ChatTranslator {
  /** The events for one chunk, or for an error that the upstream sent in its place; empty for none. */
  chunk(json: Json): string
  /** The last events of a stream that reached its end. */
  end(): string
  /** See `StreamMeter`. */
  readonly sentEvents?: number
}

/** Meters a stream of chat completions as such, and passes it on in another format. */
export class OverChatMeter extends ChatMeter {
  private readonly translator: ChatTranslator
  private translatedEnd: Uint8Array | null = null

  constructor({ choices }: ModelRequest, translator: ChatTranslator) {
    // The translator needs the usage, even if the caller did not ask for it, and reads each event.
    super(true, choices, null)
    this.translator = translator
  }

  get sentEvents(): number {
    return this.translator.sentEvents ?? 0
  }

  override get ending(): Uint8Array {
    if (!this.isComplete || this.hasFailed) return NONE
    this.translatedEnd ??= UTF8.encode(this.translator.end())
    return this.translatedEnd
  }

  override read(event: Uint8Array, text: string): string | null {
    const passes = super.read(event, text)
    // A comment keeps the connection alive in every format.
    if (passes !== null || event[0] === COLON) return passes
    return latin1(UTF8.encode(this.translator.chunk(eventJson(event))))
  }
}
