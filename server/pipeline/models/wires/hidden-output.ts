import { isJson } from '../../../core/json'
import { type ModelRequest, manyOf } from './model-request'

/**
 * Whether a vendor may bill output that it does not stream: reasoning, or tools that it runs. Then the output that arrived before
 * a hang-up says nothing about what is billed. The property names of all wires are checked on every wire.
 */
export function mayHideOutput({ bytes, members }: Pick<ModelRequest, 'bytes' | 'members'>): boolean {
  const member = (name: string): unknown => {
    const member = members.get(name)
    return member && JSON.parse(new TextDecoder().decode(bytes.subarray(member.start, member.end)))
  }
  if ((member('reasoning_effort') ?? 'none') !== 'none') return true
  if (['chat_template_kwargs', 'thinking_budget'].some((name) => members.has(name))) return true
  if (['reasoning', 'thinking', 'enable_thinking', 'think'].some((name) => isOn(member(name)))) return true
  if (['generationConfig', 'generation_config'].some((name) => mayThink(member(name)))) return true
  if (['web_search_options', 'mcp_servers', 'plugins'].some((name) => members.has(name))) return true
  // Google accepts a single object in place of a list.
  return manyOf(member('tools')).some((tool) => !isCallersOwn(tool))
}

function isOn(setting: unknown): boolean {
  return isJson(setting) ? setting['type'] !== 'disabled' && setting['effort'] !== 'none' : (setting ?? false) !== false
}

function mayThink(config: unknown): boolean {
  const thinking = isJson(config) ? (config['thinkingConfig'] ?? config['thinking_config']) : undefined
  if (!isJson(thinking)) return (thinking ?? null) !== null
  return (thinking['thinkingBudget'] ?? thinking['thinking_budget']) !== 0
}

const CALLERS_MEMBERS: ReadonlySet<string> = new Set([
  'functionDeclarations',
  'function_declarations',
  'function',
  'name',
  'description',
  'input_schema',
  'cache_control',
])

/** A tool that the caller runs: the model only writes the tool call, which is streamed. */
function isCallersOwn(tool: unknown): boolean {
  if (!isJson(tool)) return false
  const { type } = tool
  if (type === 'namespace') return manyOf(tool['tools']).every(isCallersOwn)
  if (type !== undefined) return type === 'function' || type === 'custom'
  return Object.keys(tool).every((name) => CALLERS_MEMBERS.has(name))
}
