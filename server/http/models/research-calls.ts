import { type Failure, failure, wrongParameters } from '../../core/failure'
import { elementsOf, isJson } from '../../core/json'
import { fingerprintOf } from '../../core/payments/binding'
import { err, ok, type Result } from '../../core/result'
import { type Outcome, refusedOutcome } from '../../pipeline/call'
import { positive } from '../../pipeline/models/wires/model-request'
import { type PipelineDeps, runPaidCall } from '../../pipeline/paid-call'
import type { ResearchParts, ResearchState } from '../../pipeline/research/deep-research'
import { type ResearchCall, type ResearchWire, researchWork } from '../../pipeline/research/research-work'
import { readCallOptions } from '../middleware/input/call-options'
import type { CallRequest } from '../middleware/priced'
import type { Reply } from '../middleware/response/reply'

const SEARCHES = { max: 10, standard: 4 }
const CAP = { max: 16_384, standard: 1024 }
const MAX_QUESTION_BYTES = 16 * 1024

/** `POST /v1/deep-research` over HTTP: a chat completion with `citations`, in one piece or streamed with its progress. */
export class ResearchCalls {
  private readonly pipeline: PipelineDeps
  private readonly parts: ResearchParts

  constructor(pipeline: PipelineDeps, parts: ResearchParts) {
    this.pipeline = pipeline
    this.parts = parts
  }

  /** Answers an authenticated call: takes a concurrency slot, reads the body, then runs the job. */
  answer(request: CallRequest): Outcome | Promise<Outcome> {
    const { reply, authenticated, hangUp } = request
    const options = readCallOptions(request)
    if (!options.ok) return refusedOutcome(wrongParameters(options.error))
    const call = { authenticated, options: options.value, hangUp }
    return runPaidCall(this.pipeline, call, async () => {
      const read = await request.body()
      const input = read.ok ? readInput(read.value) : read
      if (!input.ok) return input
      return researchWork(this.parts, {
        ...input.value,
        authenticated,
        options: options.value,
        onModel: (model: string) => reply.about(model),
        fingerprint: () => fingerprintOf({ method: 'POST', path: '/v1/deep-research', query: [], input: input.value }),
        wire: completionWire(reply, input.value.model, this.parts.clock.now()),
      })
    })
  }
}

type ResearchInput = Pick<ResearchCall, 'model' | 'question' | 'maxSearches' | 'cap' | 'stream'>

function readInput(body: unknown): Result<ResearchInput, Failure> {
  const wrong = (param: string, rule: string) => err(failure('invalid_parameter', `${param} ${rule}`, { param }))
  if (!isJson(body)) return err(failure('invalid_request', 'The body must be a JSON object.'))
  const { model, query, messages, stream = false } = body
  if (model === undefined) return err(failure('missing_parameter', 'model is required', { param: 'model' }))
  if (typeof model !== 'string') return wrong('model', 'must be the id of a model')
  if (query !== undefined && messages !== undefined) return wrong('messages', 'cannot be sent together with query')
  const question = typeof query === 'string' ? query : lastUserText(messages)
  if (query === undefined && messages === undefined)
    return err(failure('missing_parameter', 'query or messages is required', { param: 'query' }))
  if (question.trim() === '') return wrong(query === undefined ? 'messages' : 'query', 'must contain a question')
  if (Buffer.byteLength(question) > MAX_QUESTION_BYTES)
    return wrong(query === undefined ? 'messages' : 'query', `must be at most ${MAX_QUESTION_BYTES} bytes`)
  if (typeof stream !== 'boolean') return wrong('stream', 'must be true or false')
  const searches = positive(body['max_searches'])
  if (searches === undefined || (searches ?? 1) > SEARCHES.max)
    return wrong('max_searches', `must be a whole number from 1 to ${SEARCHES.max}`)
  const cap = positive(body['max_tokens'])
  if (cap === undefined || (cap ?? 1) > CAP.max)
    return wrong('max_tokens', `must be a whole number from 1 to ${CAP.max}`)
  return ok({ model, question, stream, maxSearches: searches ?? SEARCHES.standard, cap: cap ?? CAP.standard })
}

function lastUserText(messages: unknown): string {
  const last = elementsOf(messages)
    .filter(isJson)
    .findLast(({ role }) => role === 'user')
  const content = last?.['content']
  if (typeof content === 'string') return content
  return elementsOf(content)
    .flatMap((part) => (isJson(part) && typeof part['text'] === 'string' ? [part['text']] : []))
    .join('\n')
}

/** A job as a chat completion, or as its chunks, with progress under `research`. */
function completionWire(reply: Reply, model: string, now: number): ResearchWire {
  const frame = { id: `research-${reply.requestId}`, created: Math.floor(now / 1000), model }
  const chunk = (delta: object, more: object = {}, finish: string | null = null) => {
    const choices = [{ index: 0, delta, logprobs: null, finish_reason: finish }]
    return `data: ${JSON.stringify({ ...frame, object: 'chat.completion.chunk', choices, ...more })}\n\n`
  }
  return {
    whole(state) {
      const message = { role: 'assistant', content: state.text, refusal: null }
      const choices = [{ index: 0, message, logprobs: null, finish_reason: 'stop' }]
      return JSON.stringify({ ...frame, object: 'chat.completion', choices, ...endOf(state) })
    },
    event(event) {
      switch (event.kind) {
        case 'begun':
          return chunk({ role: 'assistant', content: '' })
        case 'progress':
          return event.progress.step === 'text'
            ? chunk({ content: event.progress.text })
            : chunk({}, { research: event.progress })
        case 'failed':
          return `data: ${reply.failureJson(event.failure)}\n\n`
        case 'done':
          return `${chunk({}, { ...endOf(event.state), cost_micros_usd: event.cost }, 'stop')}data: [DONE]\n\n`
      }
    },
  }
}

function endOf({ tokens, citations, queries }: ResearchState) {
  return {
    usage: {
      prompt_tokens: tokens.input,
      completion_tokens: tokens.output,
      total_tokens: tokens.input + tokens.output,
    },
    citations: citations.map(({ number, title, url }) => ({ number, title, url })),
    search_queries: queries,
  }
}
