import { isJson, type Json, jsonText } from '../../../../core/json'
import { HARMLESS } from '../harmless-members'
import { type ModelRequest, manyOf, toolLimit, undatedTool } from '../model-request'
import { covered, EMPTY, type MemberRule, type MemberRules, objectOf, only, shortName, tier } from '../priced-members'

/** Tools that Anthropic defines and the caller runs: they cost tokens only. Anthropic runs the others. */
const CALLER_RUN_TOOLS = /^(bash|text_editor|computer|memory)_\d+$/

/** The number of tools that the vendor describes in its own words. The body does not show the length of those descriptions. */
export function vendorDescribedTools(json: Json): number {
  return manyOf(json['tools']).filter((tool) => isJson(tool) && (tool['type'] ?? 'custom') !== 'custom').length
}

/** The most uses of the tools that Anthropic runs. */
export function vendorUses(json: Json): Pick<ModelRequest, 'uses'> {
  const uses: Record<string, number | null> = Object.create(null)
  for (const tool of manyOf(json['tools'])) {
    if (!isJson(tool) || !isVendorRun(tool)) continue
    const [name, most] = [undatedTool(jsonText(tool['type'])), toolLimit(tool['max_uses'])]
    const before = uses[name] ?? 0
    uses[name] = most === null || uses[name] === null ? null : before + most
  }
  return Object.keys(uses).length === 0 ? {} : { uses }
}

function isVendorRun({ type = 'custom' }: Json): boolean {
  return type !== null && type !== 'custom' && !CALLER_RUN_TOOLS.test(jsonText(type))
}

const tools: MemberRule = (value, path) => {
  if (!Array.isArray(value)) return [path]
  return value.flatMap((tool: unknown) =>
    isJson(tool) && isVendorRun(tool) ? [`${path}.${shortName(tool['type'])}`] : [],
  )
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
  service_tier: tier,
  inference_geo: only('global'),
  speed: tier,
}
