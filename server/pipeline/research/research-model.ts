import type { Clock } from '../../core/clock'
import { elementsOf, isJson } from '../../core/json'
import type { Model } from '../../core/models/model'
import type { UpstreamFailure } from '../../core/providers/provider'
import { err, ok, type Result } from '../../core/result'
import type { BackendAnswer, BackendCall, ModelBackend } from '../models/model-backend'
import { withDefaults } from '../models/validate-model-call'
import { boundsOf, USUAL_BYTES } from '../models/wires/model-request'
import { type Metered, metered, type WirePath } from '../models/wires/model-wire'
import { CHAT_COMPLETIONS } from '../models/wires/openai/chat-completions-wire'
import { eventJson, SseEvents } from '../models/wires/sse-events'
import type { ChatTurn } from './research-prompts'

const STREAM: WirePath = { model: null, stream: true, events: true }

/** One model call within a job. */
export interface ModelQuestion extends Pick<BackendCall, 'account' | 'concurrency'> {
  readonly model: Model
  readonly turns: readonly ChatTurn[]
  readonly cap: number
  /** Called with the text as it arrives. */
  readonly onText?: (text: string) => void
}

export interface ModelAnswer {
  readonly text: string
  readonly metered: Metered
  /** Why the answer is incomplete; null if it is complete. */
  readonly broken: UpstreamFailure | null
}

/** The body of a model call. Its length and its cap bound its tokens. */
export function questionBody({
  model,
  turns,
  cap,
}: Pick<ModelQuestion, 'model' | 'turns' | 'cap'>): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify({ model: model.id, messages: turns, max_tokens: cap, stream: true }))
}

/**
 * Calls a model and counts the tokens it used, even if the answer is incomplete. If `signal` aborted it, the output is estimated
 * from the time it ran. A call that the upstream refused used none.
 */
export async function askModel(
  { backend, clock }: { readonly backend: ModelBackend; readonly clock: Clock },
  question: ModelQuestion,
  signal: AbortSignal,
): Promise<Result<ModelAnswer, UpstreamFailure>> {
  const { account, concurrency, model, cap, onText } = question
  const validated = CHAT_COMPLETIONS.read(questionBody(question), STREAM)
  if (!validated.ok) throw new Error(validated.error.message)
  const request = withDefaults(validated.value, CHAT_COMPLETIONS, model)
  const wire = CHAT_COMPLETIONS
  const asked = { account, concurrency, model, wire, request, path: STREAM, cap, headers: {}, traceparent: null }
  const call = { ...asked, order: null, tries: Number.POSITIVE_INFINITY }
  const askedAt = clock.now()
  const opened = await backend.open(call, signal)
  if (!opened.ok && !signal.aborted) return err(opened.error)
  const meter = CHAT_COMPLETIONS.meter(request, STREAM)
  let text = ''
  const texts = new SseEvents({
    read(event) {
      const delta = deltaOf(event)
      text += delta
      if (delta !== '') onText?.(delta)
      return ''
    },
  })
  const read = async (answer: BackendAnswer): Promise<UpstreamFailure | null> => {
    let isSilent = false
    const timer = setTimeout(() => {
      isSilent = true
      answer.close()
    }, answer.idleMs)
    try {
      for await (const chunk of answer.body) {
        timer.refresh()
        texts.push(meter.push(answer.guard?.pass(chunk) ?? chunk))
      }
      texts.push(meter.close())
      return meter.isComplete && !meter.hasFailed ? null : { kind: 'error', reason: 'the stream was cut' }
    } catch (error) {
      if (isSilent) return { kind: 'timeout', reason: `silent for ${answer.idleMs} ms` }
      return { kind: signal.aborted ? 'timeout' : 'error', reason: error instanceof Error ? error.name : 'cut' }
    } finally {
      clearTimeout(timer)
      answer.close()
    }
  }
  const broken = opened.ok ? await read(opened.value) : opened.error
  const likely = boundsOf(request, model, cap)?.input.likely ?? 0
  const seconds = broken && signal.aborted ? Math.max(0, clock.now() - askedAt) / 1000 : 0
  const textBytes = Math.max(meter.seen.textBytes, Math.ceil(seconds * model.tokensPerSecond) * USUAL_BYTES)
  return ok({ text, metered: metered({ ...meter.seen, textBytes }, likely, cap), broken })
}

function deltaOf(event: Uint8Array): string {
  const [choice] = elementsOf(eventJson(event)['choices'])
  const delta = isJson(choice) ? choice['delta'] : null
  return isJson(delta) && typeof delta['content'] === 'string' ? delta['content'] : ''
}
