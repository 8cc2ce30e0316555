import { isJson, type Json } from '../../../../core/json'
import { HARMLESS } from '../harmless-members'
import { manyOf } from '../model-request'
import {
  COVERED,
  type MemberRule,
  type MemberRules,
  NOTHING,
  objectOf,
  only,
  shortName,
  uncovered,
} from '../priced-members'

/** Tools that the caller runs. The vendor runs all others and bills each use. */
const TOOL: Readonly<Record<string, MemberRules>> = {
  function: { type: COVERED, function: COVERED, strict: COVERED, cache_control: COVERED, defer_loading: COVERED },
  custom: { type: COVERED, custom: COVERED, cache_control: COVERED, defer_loading: COVERED },
}

const tools: MemberRule = (value, path) => {
  if (!Array.isArray(value)) return [path]
  return value.flatMap((tool: unknown) => {
    // Most servers read a tool without a type as a function.
    const type = isJson(tool) ? (tool['type'] ?? (isJson(tool['function']) ? 'function' : null)) : null
    const rules = typeof type === 'string' && Object.hasOwn(TOOL, type) ? TOOL[type] : undefined
    if (!isJson(tool) || !rules) return [`${path}.${typeof type === 'string' ? shortName(type) : 'type'}`]
    return uncovered(tool, rules, `${path}.`)
  })
}

/** Audio has its own price per token, several times that of text. */
const messages: MemberRule = (value, path) => {
  let found = NOTHING
  for (const message of manyOf(value)) {
    if (!isJson(message)) continue
    if (hasSound(message['content'])) found = [...found, `${path}.input_audio`]
    if (message['audio'] !== undefined && message['audio'] !== null) found = [...found, `${path}.audio`]
  }
  return found
}

function hasSound(content: unknown): boolean {
  return typeof content !== 'string' && manyOf(content).some((part) => isJson(part) && part['type'] === 'input_audio')
}

const modalities: MemberRule = (value, path) => (manyOf(value).every((one) => one === 'text') ? [] : [path])

/**
 * The properties of a chat completion that a token price covers. Left out on purpose: `prediction` (rejected tokens exceed the
 * cap), `audio`, `web_search_options`, `moderation`, tiers with their own prices, `best_of`, and everything that selects another model,
 * provider or template at a compatible server. `store` is set to false on the way.
 */
const MEMBERS: MemberRules = {
  ...HARMLESS.chat,
  model: COVERED,
  messages,
  stream: COVERED,
  stream_options: COVERED,
  max_tokens: COVERED,
  max_completion_tokens: COVERED,
  n: COVERED,
  temperature: COVERED,
  top_p: COVERED,
  top_k: COVERED,
  min_p: COVERED,
  stop: COVERED,
  seed: COVERED,
  presence_penalty: COVERED,
  frequency_penalty: COVERED,
  repetition_penalty: COVERED,
  logit_bias: COVERED,
  logprobs: COVERED,
  top_logprobs: COVERED,
  response_format: COVERED,
  tools,
  tool_choice: COVERED,
  parallel_tool_calls: COVERED,
  functions: COVERED,
  function_call: COVERED,
  reasoning_effort: COVERED,
  verbosity: COVERED,
  modalities,
  user: COVERED,
  metadata: COVERED,
  safety_identifier: COVERED,
  prompt_cache_key: COVERED,
  prompt_cache_options: objectOf({ mode: COVERED, ttl: COVERED }),
  prompt_cache_retention: COVERED,
  store: COVERED,
  service_tier: only('auto', 'default'),
}

/** The properties of a chat completion's body that no token price covers. */
export function uncoveredOfChat(json: Json): readonly string[] {
  return uncovered(json, MEMBERS)
}
