import { isJson } from '../../../../core/json'
import { HARMLESS } from '../harmless-members'
import { manyOf } from '../model-request'
import {
  covered,
  lifetime,
  type MemberRule,
  type MemberRules,
  NOTHING,
  objectOf,
  shortName,
  tier,
  uncovered,
} from '../priced-members'

/** Tools that the caller runs. The vendor runs all others and bills each use. */
const TOOL: Readonly<Record<string, MemberRules>> = {
  function: covered('type', 'function', 'strict', 'cache_control', 'defer_loading'),
  custom: covered('type', 'custom', 'cache_control', 'defer_loading'),
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
  let [sound, earlier] = [NOTHING, NOTHING]
  for (const message of manyOf(value)) {
    if (!isJson(message)) continue
    if (hasSound(message['content'])) sound = [`${path}.input_audio`]
    if (message['audio'] !== undefined && message['audio'] !== null) earlier = [`${path}.audio`]
  }
  return sound === NOTHING && earlier === NOTHING ? NOTHING : [...sound, ...earlier]
}

function hasSound(content: unknown): boolean {
  return typeof content !== 'string' && manyOf(content).some((part) => isJson(part) && part['type'] === 'input_audio')
}

const modalities: MemberRule = (value, path) =>
  manyOf(value).flatMap((one) => (one === 'text' ? [] : [`${path}.${shortName(one)}`]))

/**
 * The properties of a chat completion that a token price covers. Left out on purpose: `prediction` (rejected tokens exceed the
 * cap), `audio`, `web_search_options`, `moderation`, tiers with their own prices, `best_of`, and everything that selects another model,
 * provider or template at a compatible server. `store` is set to false on the way.
 */
export const CHAT_MEMBERS: MemberRules = {
  ...HARMLESS.chat,
  ...covered('model', 'stream', 'stream_options', 'max_tokens', 'max_completion_tokens', 'n', 'temperature', 'top_p'),
  ...covered('top_k', 'min_p', 'stop', 'seed', 'presence_penalty', 'frequency_penalty', 'repetition_penalty'),
  ...covered('logit_bias', 'logprobs', 'top_logprobs', 'response_format', 'tool_choice', 'parallel_tool_calls'),
  ...covered('functions', 'function_call', 'reasoning_effort', 'verbosity', 'user', 'metadata', 'safety_identifier'),
  ...covered('prompt_cache_key', 'store'),
  messages,
  tools,
  modalities,
  prompt_cache_options: objectOf({ ...covered('mode'), ttl: lifetime }),
  prompt_cache_retention: lifetime,
  service_tier: tier,
}
