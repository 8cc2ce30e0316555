import { isJson } from '../../../../../core/json'
import type { TokenCounts } from '../../../../../core/usage/call-record'
import type { FrameRules, Run } from '../../event-frame'
import { EventMeter } from '../../event-meter'
import { type MeteredOutput, stringBytes, stringMembers } from '../../model-wire'
import { eventJson } from '../../sse-events'
import { responsesUsage } from '../../token-usage'

/** Every text arrives once in a delta. The events that close a part repeat it. */
const DELTAS = stringMembers('delta')
/** Events beyond content. A match inside answer text only means that the events are parsed. */
const NOT_CONTENT_ALONE = /response\.(?:completed|incomplete|failed|cancelled)|\berror\b/
const DELTA_EVENTS: FrameRules = {
  varying: /"(delta|obfuscation)"\s*:\s*"|"sequence_number"\s*:\s*(?=\d)/g,
  texts: new Set(['delta']),
  beyond: NOT_CONTENT_ALONE,
  hidden: '',
}
const NAME = /(?:^|\n)event:\s*([\w.]+)/
const NUMBERS = /"sequence_number"\s*:\s*(\d{1,9})/g

/** Meters a stream of the Responses API, whose last event has the usage of the call. */
export class ResponsesMeter extends EventMeter {
  sentEvents = 0
  private counts: TokenCounts | null = null

  constructor() {
    super(DELTA_EVENTS)
  }

  get seen(): MeteredOutput {
    return { counts: this.counts, isFinal: this.counts !== null, textBytes: this.textBytes }
  }

  override count(run: Run, events: string): void {
    super.count(run, events)
    const { number } = run
    if (number !== null) this.sentEvents = number + 1
  }

  read(event: Uint8Array, text: string): string | null {
    const type = NOT_CONTENT_ALONE.test(text) ? (NAME.exec(text)?.[1] ?? eventJson(event)['type']) : ''
    if (type === 'response.completed' || type === 'response.incomplete') {
      const { response } = eventJson(event)
      this.counts = responsesUsage(isJson(response) ? response['usage'] : null)
      this.isComplete = true
      this.last = event
      return ''
    }
    this.hasFailed ||= type === 'response.failed' || type === 'response.cancelled' || type === 'error'
    this.textBytes += stringBytes(text, DELTAS)
    for (const [, number] of text.matchAll(NUMBERS)) this.sentEvents = Number(number) + 1
    return null
  }
}
