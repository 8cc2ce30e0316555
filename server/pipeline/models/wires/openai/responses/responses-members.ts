import { elementsOf, isJson, type Json } from '../../../../../core/json'
import { manyOf } from '../../model-request'
import { COVERED, type MemberRule, type MemberRules, objectOf, only, shortName, uncovered } from '../../priced-members'

/** Tools that the caller runs. OpenAI runs the others, such as `web_search`, and bills each use. */
const CALLERS_TOOLS: ReadonlySet<unknown> = new Set(['function', 'custom'])
const TOOL_CHOICES: ReadonlySet<unknown> = new Set(['function', 'custom', 'allowed_tools'])

/** Items whose tokens are text, images and files. The others belong to the vendor's tools, stores and compaction. */
const ITEMS: ReadonlySet<unknown> = new Set([
  'message',
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output',
  'reasoning',
  // Replaced by the item that it refers to.
  'item_reference',
])
/** Parts whose byte length bounds their tokens. */
export const TEXT_PARTS: ReadonlySet<unknown> = new Set([
  'input_text',
  'output_text',
  'refusal',
  'reasoning_text',
  'summary_text',
])
const PARTS: ReadonlySet<unknown> = new Set([...TEXT_PARTS, 'input_image', 'input_file'])

/** What an answer can include without one of the vendor's tools. */
const INCLUDES: ReadonlySet<unknown> = new Set(['reasoning.encrypted_content', 'message.output_text.logprobs'])

const tools: MemberRule = (value, path) =>
  manyOf(value).flatMap((tool) => {
    const type = isJson(tool) ? tool['type'] : 'type'
    return CALLERS_TOOLS.has(type) ? [] : [`${path}.${shortName(type)}`]
  })

const toolChoice: MemberRule = (value, path) =>
  !isJson(value) || TOOL_CHOICES.has(value['type']) ? [] : [`${path}.${shortName(value['type'])}`]

const include: MemberRule = (value, path) =>
  manyOf(value).flatMap((name) => (INCLUDES.has(name) ? [] : [`${path}.${shortName(name)}`]))

const input: MemberRule = (value, path) =>
  elementsOf(value).flatMap((item) => {
    if (!isJson(item)) return []
    const type = itemType(item)
    if (!ITEMS.has(type)) return [`${path}.${shortName(type)}`]
    return partsOfItem(item).flatMap((part) =>
      !isJson(part) || PARTS.has(part['type']) ? [] : [`${path}.${shortName(part['type'])}`],
    )
  })

/** The parts of an item, in whichever member, and also where one part stands in place of a list. */
export function partsOfItem({ content, output, summary }: Json): readonly unknown[] {
  return [content, output, summary].flatMap(manyOf)
}

/** The type of an item. A message may leave it out. */
export function itemType(item: Json): unknown {
  return item['type'] ?? 'message'
}

/**
 * The properties of a Responses call that a token price covers. Left out on purpose: `prompt` (stored at the vendor), `moderation`,
 * `context_management` (compaction is another run of the model), reasoning modes that run it several times, and tiers with their
 * own prices. `store` is set to false on the way, `max_tool_calls` concerns only the vendor's tools.
 */
const MEMBERS: MemberRules = {
  model: COVERED,
  input,
  instructions: COVERED,
  stream: COVERED,
  stream_options: COVERED,
  max_output_tokens: COVERED,
  max_tool_calls: COVERED,
  temperature: COVERED,
  top_p: COVERED,
  top_logprobs: COVERED,
  tools,
  tool_choice: toolChoice,
  parallel_tool_calls: COVERED,
  text: objectOf({ format: COVERED, verbosity: COVERED }),
  reasoning: objectOf({ effort: COVERED, summary: COVERED, generate_summary: COVERED }),
  include,
  metadata: COVERED,
  user: COVERED,
  safety_identifier: COVERED,
  prompt_cache_key: COVERED,
  prompt_cache_options: objectOf({ mode: COVERED, ttl: COVERED }),
  prompt_cache_retention: COVERED,
  truncation: COVERED,
  store: COVERED,
  background: only(false),
  service_tier: only('auto', 'default'),
}

/** The properties of a Responses body that no token price covers. */
export function uncoveredOfResponses(json: Json): readonly string[] {
  return uncovered(json, MEMBERS)
}
