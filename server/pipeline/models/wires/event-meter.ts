import type { FrameRules, Run } from './event-frame'
import type { MeteredOutput, StreamMeter } from './model-wire'
import { type EventReader, SseEvents } from './sse-events'

const NONE: Uint8Array = new Uint8Array()

/** Meters a stream of server-sent events. A wire says what its events mean. */
export abstract class EventMeter implements StreamMeter, EventReader {
  isComplete = false
  hasFailed = false
  textBytes = 0
  /** See `ending`. */
  protected last = NONE
  private readonly events: SseEvents

  /** `rules`: see `SseEvents`. */
  constructor(rules: FrameRules | null) {
    this.events = new SseEvents(this, rules)
  }

  abstract get seen(): MeteredOutput
  abstract read(event: Uint8Array, text: string): string | null

  get ending(): Uint8Array {
    return this.last
  }

  push(chunk: Uint8Array): Uint8Array {
    return this.events.push(chunk)
  }

  close(): Uint8Array {
    return this.events.end()
  }

  count({ textBytes }: Run, _events: string): void {
    this.textBytes += textBytes
  }
}
