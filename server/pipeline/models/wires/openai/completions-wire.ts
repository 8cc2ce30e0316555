import { failure } from '../../../../core/failure'
import { elementsOf, isJson, type Json, jsonText, membersOf, stringOrEmpty } from '../../../../core/json'
import { err, ok } from '../../../../core/result'
import { reportsFailure } from '../json/readable-json'
import { invalidMember, manyOf, missingMember, positive, readModelBody, TEXT_PART } from '../model-request'
import type { ModelWire, UpstreamWire } from '../model-wire'
import { covered, type MemberRules, only, uncovered } from '../priced-members'
import { CHAT_COMPLETIONS } from './chat-completions-wire'
import { type ChatTranslator, chatBodyFor, OverChatMeter } from './over-chat'

/** What OpenAI applies without `max_tokens`. */
const USUAL_CAP = 16

/** Members that have the same name and meaning in a chat completion. */
const SAME = [
  'temperature',
  'top_p',
  'top_k',
  'min_p',
  'stop',
  'seed',
  'presence_penalty',
  'frequency_penalty',
  'repetition_penalty',
  'logit_bias',
  'user',
] as const

/** One answer to one prompt. A chat completion can neither return the prompt's tokens nor fill a gap in a text. */
const MEMBERS: MemberRules = {
  ...covered('model', 'prompt', 'max_tokens', 'stream', 'stream_options', ...SAME),
  n: only(1),
  best_of: only(1),
  echo: only(false),
}

const OVER_CHAT: UpstreamWire = {
  bodyFor: chatBodyFor,
  usageOf: CHAT_COMPLETIONS.usageOf,
  textBytes: CHAT_COMPLETIONS.textBytes,
  answerOf(answer) {
    const [choice] = elementsOf(answer['choices'])
    if (!isJson(choice)) return null
    const message = membersOf(choice['message'])
    const text = stringOrEmpty(message['content'])
    const json = { ...headOf(answer), choices: [choiceOf(text, choice)], usage: answer['usage'] }
    return new TextEncoder().encode(JSON.stringify(json))
  },
  meter: (request) => new OverChatMeter(request, new CompletionEvents(request.usageAsked)),
}

/** OpenAI's completions of a prompt. Every upstream gets them as chat completions. */
export const COMPLETIONS: ModelWire = {
  ...OVER_CHAT,
  route: 'completions',
  read(bytes) {
    const read = readModelBody(bytes)
    if (!read.ok) return read
    const { json, members } = read.value
    const { model, prompt, stream = false, stream_options: options } = json
    if (model === undefined) return missingMember('model')
    if (typeof model !== 'string') return invalidMember('model', 'must be the id of a model')
    if (prompt === undefined) return missingMember('prompt')
    const [text, ...more] = manyOf(prompt)
    if (more.length > 0 && more.every((one) => typeof one === 'string'))
      return err(
        failure('unsupported_parameter', 'prompt can be one text only. Send a call for each prompt.', {
          param: 'prompt',
        }),
      )
    if (typeof text !== 'string' || more.length > 0)
      return invalidMember('prompt', 'must be a string, or a list of one string')
    if (typeof stream !== 'boolean' && stream !== null) return invalidMember('stream', 'must be true or false')
    if (isJson(options) && !stream) return invalidMember('stream_options', 'is allowed only with stream: true')
    const cap = positive(json['max_tokens'])
    if (cap === undefined) return invalidMember('max_tokens', 'must be a whole number above 0')
    const chat = {
      messages: [{ role: 'user', content: text }],
      ...Object.fromEntries(SAME.map((name) => [name, json[name] ?? undefined])),
    }
    return ok({
      bytes,
      members,
      model,
      stream: stream === true,
      usageAsked: isJson(options) && options['include_usage'] === true,
      cap: cap ?? USUAL_CAP,
      choices: 1,
      parts: TEXT_PART,
      hasTools: false,
      uncovered: uncovered(json, MEMBERS),
      tier: null,
      chat: { body: new TextEncoder().encode(JSON.stringify(chat)), beyond: null },
    })
  },
  overChat: OVER_CHAT,
  errorEvent: CHAT_COMPLETIONS.errorEvent,
}

class CompletionEvents implements ChatTranslator {
  private readonly showsUsage: boolean

  constructor(showsUsage: boolean) {
    this.showsUsage = showsUsage
  }

  chunk(json: Json): string {
    const { error, choices, usage } = json
    if (reportsFailure(json)) return event({ error })
    const head = headOf(json)
    const [choice] = elementsOf(choices)
    if (!isJson(choice)) return this.showsUsage && isJson(usage) ? event({ ...head, choices: [], usage }) : ''
    const delta = membersOf(choice['delta'])
    const text = stringOrEmpty(delta['content'])
    if (text === '' && (choice['finish_reason'] ?? null) === null) return ''
    return event({ ...head, choices: [choiceOf(text, choice)], ...(this.showsUsage && { usage: null }) })
  }

  end(): string {
    return 'data: [DONE]\n\n'
  }
}

function headOf({ id, created, model }: Json) {
  return { id: jsonText(id).replace(/^chatcmpl/, 'cmpl'), object: 'text_completion', created, model }
}

function choiceOf(text: string, { finish_reason: finish }: Json) {
  return { text, index: 0, logprobs: null, finish_reason: finish ?? null }
}

function event(json: object): string {
  return `data: ${JSON.stringify(json)}\n\n`
}
