import { elementsOf, isJson, type Json, membersOf } from '../../../../../core/json'
import { HARMLESS } from '../../harmless-members'
import { manyOf } from '../../model-request'
import {
  covered,
  lifetime,
  type MemberRule,
  type MemberRules,
  objectOf,
  only,
  shortName,
  tier,
} from '../../priced-members'

/** Tools that the caller runs. OpenAI runs the others, such as `web_search`, and bills each use. */
const CALLERS_TOOLS: ReadonlySet<unknown> = new Set(['function', 'custom', 'local_shell', 'apply_patch'])
/** Sent on only where the model's entry names it as `tools.web_search`. */
export const OFF_TOOL = 'web_search'
const TOOL_CHOICES: ReadonlySet<unknown> = new Set(['function', 'custom', 'allowed_tools'])

/**
 * Items whose tokens are text, images and files. The others belong to the vendor's stores, containers and compaction. A call of a
 * tool that is over costs its text only, wherever the tool ran.
 */
const ITEMS: ReadonlySet<unknown> = new Set([
  'message',
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output',
  'local_shell_call',
  'local_shell_call_output',
  'apply_patch_call',
  'apply_patch_call_output',
  'tool_search_call',
  'web_search_call',
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

/** The values of `include` that need none of the vendor's tools. */
const INCLUDES: ReadonlySet<unknown> = new Set(['reasoning.encrypted_content', 'message.output_text.logprobs'])

/** Functions of a group, and those that a search found: not the vendor's. */
const groupedTools: MemberRule = (value, path) =>
  manyOf(value).flatMap((tool) => {
    const { type, tools: grouped } = membersOf(tool)
    if (type === 'namespace') return groupedTools(grouped, path)
    return type === 'function' || type === 'custom' ? [] : [`${path}.${shortName(type)}`]
  })

const tools: MemberRule = (value, path) =>
  manyOf(value).flatMap((tool) => {
    if (!isJson(tool)) return [`${path}.type`]
    const { type, tools: grouped } = tool
    if (type === 'namespace') return groupedTools(grouped, path)
    // One that is off is taken out of a list only.
    return (isOffTool(tool) && Array.isArray(value)) || isCallersTool(tool) ? [] : [`${path}.${shortName(type)}`]
  })

/** A search for tools of the caller, by the caller: the vendor runs nothing. */
function isCallersTool({ type, execution }: Json): boolean {
  return CALLERS_TOOLS.has(type) || (type === 'tool_search' && execution === 'client')
}

/** A search of the web without the web, as Codex sends it by default. A vendor bills its searches all the same. */
export function isOffTool({ type, external_web_access: access }: Json): boolean {
  return type === OFF_TOOL && access === false
}

/** The number of tools that the vendor describes in its own words. The body does not show the length of those descriptions. */
export function vendorDescribedTools(json: Json): number {
  const ownWords: ReadonlySet<unknown> = new Set(['function', 'custom', 'namespace'])
  return toolsOf(json).filter((tool) => isJson(tool) && !ownWords.has(tool['type'])).length
}

const TOOL_ITEMS: ReadonlySet<unknown> = new Set(['additional_tools', 'tool_search_output'])

/** The tools of a call. Newer agents send them as an item of the input, or as what a search of theirs found. */
export function toolsOf(json: Json): readonly unknown[] {
  const items = elementsOf(json['input']).filter((item) => isJson(item) && TOOL_ITEMS.has(item['type']))
  return [json['tools'], ...items.map((item) => Object(item).tools)].flatMap(manyOf)
}

const toolChoice: MemberRule = (value, path) =>
  !isJson(value) || TOOL_CHOICES.has(value['type']) ? [] : [`${path}.${shortName(value['type'])}`]

const include: MemberRule = (value, path) =>
  manyOf(value).flatMap((name) => (INCLUDES.has(name) ? [] : [`${path}.${shortName(name)}`]))

const input: MemberRule = (value, path) =>
  elementsOf(value).flatMap((item) => {
    if (!isJson(item)) return []
    const type = itemType(item)
    if (type === 'additional_tools')
      return manyOf(item['tools']).some((tool) => isJson(tool) && isOffTool(tool))
        ? [`${path}.${OFF_TOOL}`]
        : tools(item['tools'], path)
    if (type === 'tool_search_output') return groupedTools(item['tools'], path)
    if (!ITEMS.has(type)) return [`${path}.${shortName(type)}`]
    return partsOfItem(item).flatMap((part) =>
      !isJson(part) || PARTS.has(part['type']) ? [] : [`${path}.${shortName(part['type'])}`],
    )
  })

/** The parts of an item, in whichever member, and also where one part is in place of a list. */
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
export const RESPONSES_MEMBERS: MemberRules = {
  ...HARMLESS.responses,
  ...covered('model', 'instructions', 'stream', 'stream_options', 'max_output_tokens', 'max_tool_calls', 'temperature'),
  ...covered('top_p', 'top_logprobs', 'parallel_tool_calls', 'metadata', 'user', 'safety_identifier'),
  ...covered('prompt_cache_key', 'truncation', 'store'),
  input,
  tools,
  tool_choice: toolChoice,
  text: objectOf(covered('format', 'verbosity')),
  reasoning: objectOf(covered('effort', 'summary', 'generate_summary', 'context')),
  include,
  prompt_cache_options: objectOf({ ...covered('mode'), ttl: lifetime }),
  prompt_cache_retention: lifetime,
  background: only(false),
  service_tier: tier,
}
