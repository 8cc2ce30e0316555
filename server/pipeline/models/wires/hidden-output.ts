import { isJson } from '../../../core/json'
import { type ModelRequest, manyOf } from './model-request'

/**
 * Whether a vendor may bill output of this call that it does not send as it comes: reasoning, tools that run at the vendor. What
 * came until a hang-up then says nothing of what is billed. Any wire's names count on every wire.
 */
export function mayHideOutput({ bytes, members }: Pick<ModelRequest, 'bytes' | 'members'>): boolean {
  const member = (name: string): unknown => {
    const place = members.get(name)
    return place && JSON.parse(new TextDecoder().decode(bytes.subarray(place.start, place.end)))
  }
  if ((member('reasoning_effort') ?? 'none') !== 'none') return true
  if (['reasoning', 'thinking'].some((name) => isOn(member(name)))) return true
  if (['generationConfig', 'generation_config'].some((name) => mayThink(member(name)))) return true
  if (['web_search_options', 'mcp_servers', 'plugins'].some((name) => members.has(name))) return true
  // Google takes one object where a list belongs.
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

/** A tool that the caller runs: the model writes its call, and that is sent. */
function isCallersOwn(tool: unknown): boolean {
  if (!isJson(tool)) return false
  if (tool['type'] !== undefined) return tool['type'] === 'function' || tool['type'] === 'custom'
  return Object.keys(tool).every((name) =>
    ['functionDeclarations', 'function_declarations', 'name', 'description', 'input_schema', 'cache_control'].includes(
      name,
    ),
  )
}
