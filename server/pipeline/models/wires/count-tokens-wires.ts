import { isJson, type Json } from '../../../core/json'
import { ok } from '../../../core/result'
import { MESSAGES } from './anthropic/messages-wire'
import { normalizeSpelling } from './google/generate-content-members'
import { edited, objectMembers, type PropertyPosition } from './json/json-members'
import { invalidMember, type ModelRequest, missingMember, readModelBody } from './model-request'
import { type ModelWire, PLAIN_ANSWERS, PLAIN_REQUEST } from './model-wire'

const NOTHING_USED = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }

/** The common part of all calls that count tokens: vendors do not bill them. */
const FREE = { ...PLAIN_REQUEST, uncovered: [], isFree: true } as const satisfies Partial<ModelRequest>

/** Anthropic's messages/count_tokens: the body of a message without an output cap. */
export const COUNT_MESSAGE_TOKENS: ModelWire = {
  route: 'messages_count_tokens',
  read(bytes) {
    const read = readModelBody(bytes)
    if (!read.ok) return read
    const { model, messages } = read.value.json
    if (model === undefined) return missingMember('model')
    if (typeof model !== 'string') return invalidMember('model', 'must be the id of a model')
    if (messages === undefined) return missingMember('messages')
    if (!Array.isArray(messages) || messages.length === 0)
      return invalidMember('messages', 'must be a list of messages')
    return ok({ ...FREE, bytes, members: read.value.members, model })
  },
  bodyFor: MESSAGES.bodyFor,
  usageOf: () => NOTHING_USED,
  ...PLAIN_ANSWERS,
}

/** Gemini's countTokens: contents, or a whole request for generateContent, which names its model again. */
export const COUNT_CONTENT_TOKENS: ModelWire = {
  route: 'count_tokens',
  read(bytes, path) {
    const read = readModelBody(bytes)
    if (!read.ok) return read
    const { members } = read.value
    const json = normalizeSpelling(read.value.json)
    if (!json) return invalidMember('body', 'contains the same property in both spellings')
    const { contents, generateContentRequest: request } = json
    if (contents === undefined && request === undefined) return missingMember('contents')
    if (request !== undefined && request !== null) {
      const member = requestMember(members)
      if (!isJson(request) || !member || !objectMembers(bytes, member.start))
        return invalidMember('generateContentRequest', 'must be an object with each property once')
      const problem = otherModel(request, path.model ?? '')
      if (problem) return problem
    }
    return ok({ ...FREE, bytes, members, model: path.model ?? '' })
  },
  bodyFor({ bytes, members }, upstream) {
    const member = requestMember(members)
    const model = member && objectMembers(bytes, member.start)?.get('model')
    return model ? edited(bytes, [{ ...model, text: JSON.stringify(`models/${upstream.model}`) }]) : bytes
  },
  usageOf: () => NOTHING_USED,
  ...PLAIN_ANSWERS,
}

function requestMember(members: ModelRequest['members']): PropertyPosition | undefined {
  return members.get('generateContentRequest') ?? members.get('generate_content_request')
}

function otherModel({ model: named }: Json, model: string) {
  if (named === undefined || named === model || named === `models/${model}`) return null
  return invalidMember('generateContentRequest.model', `must be "models/${model.slice(0, 80)}", the model in the path`)
}
