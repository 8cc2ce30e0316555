import { isJson, type Json, jsonText } from '../../../../core/json'
import { HARMLESS } from '../harmless-members'
import { manyOf } from '../model-request'
import { covered, EMPTY, type MemberRule, type MemberRules, objectOf, only, shortName } from '../priced-members'

/** Tools that Anthropic defines and the caller runs: they cost tokens only. Anthropic runs the others. */
const CALLER_RUN_TOOLS = /^(bash|text_editor|computer|memory)_\d+$/

/** The number of tools that the vendor describes in its own words. The body does not show the length of those descriptions. */
export function vendorDescribedTools(json: Json): number {
  return manyOf(json['tools']).filter((tool) => isJson(tool) && (tool['type'] ?? 'custom') !== 'custom').length
}

const tools: MemberRule = (value, path) => {
  if (!Array.isArray(value)) return [path]
  return value.flatMap((tool: unknown) => {
    const type = isJson(tool) ? (tool['type'] ?? 'custom') : 'custom'
    return type === 'custom' || CALLER_RUN_TOOLS.test(jsonText(type)) ? [] : [`${path}.${shortName(type)}`]
  })
}

/**
 * Parts of earlier turns: a call of one of the vendor's tools, its result, a summary of what was compacted. It costs its text,
 * as input; the tool was billed where it ran. A result may hold documents.
 */
const HISTORY = /^(?:server_tool_use|mcp_tool_use|compaction|[a-z_]+_tool_result)$/

export function isHistory(type: unknown): boolean {
  return typeof type === 'string' && HISTORY.test(type)
}

/** Blocks whose byte length bounds their tokens, and images and documents. Others involve containers. */
const BLOCKS: ReadonlySet<unknown> = new Set([
  'text',
  'image',
  'document',
  'search_result',
  'thinking',
  'redacted_thinking',
  'tool_use',
  'tool_result',
  'tool_reference',
])

const messages: MemberRule = (value, path) =>
  manyOf(value).flatMap((message) => (isJson(message) ? blocks(message['content'], path) : []))

function blocks(content: unknown, path: string): readonly string[] {
  return manyOf(content).flatMap((block) => {
    if (!isJson(block)) return []
    const { type, content } = block
    if (isHistory(type)) return []
    if (!BLOCKS.has(type)) return [`${path}.${shortName(type)}`]
    return type === 'tool_result' ? blocks(content, path) : []
  })
}

/** Clearing only removes tokens. Compaction is another model run, which the usage of the answer does not include. */
const CLEARING: ReadonlySet<unknown> = new Set(['clear_tool_uses_20250919', 'clear_thinking_20251015'])

const edits: MemberRule = (value, path) =>
  manyOf(value).flatMap((edit) => {
    const type = isJson(edit) ? edit['type'] : null
    return CLEARING.has(type) ? [] : [`${path}.${shortName(type)}`]
  })

/**
 * The properties of a message that a token price covers. Left out on purpose: `mcp_servers`, `container`, `fallbacks`,
 * `compaction`, `thread`, `inference_geo` and `speed` (more expensive tokens), and everything that selects who is billed.
 */
export const MESSAGES_MEMBERS: MemberRules = {
  ...HARMLESS.messages,
  ...covered('model', 'max_tokens', 'stream', 'stop_sequences', 'temperature', 'top_k', 'top_p', 'metadata'),
  ...covered('thinking', 'tool_choice', 'cache_control', 'output_format', 'diagnostics'),
  messages,
  system: (value, path) => blocks(value, path),
  tools,
  output_config: objectOf(covered('effort', 'format', 'task_budget')),
  context_management: objectOf({ edits }),
  mcp_servers: EMPTY,
  service_tier: only('auto', 'standard_only'),
  inference_geo: only('global'),
  speed: only('standard'),
}
