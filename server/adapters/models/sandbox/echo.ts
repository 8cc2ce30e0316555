import { jsonText } from '../../../core/json'
import { boundedJson } from '../../../core/json-bounds'
import type { OfferedTool, Prompt, SandboxReply } from './prompt'

/**
 * `sandbox/echo`: repeats the last message. With tools it calls one first, with arguments made from that message, and
 * then repeats the tool's result. The same call always gets the same reply.
 */
export function echo({ turns, tools, toolChoice }: Prompt): SandboxReply {
  const last = turns.findLast(({ role }) => role !== 'system')
  const text = last?.text ?? ''
  const wanted = typeof toolChoice === 'object' && toolChoice.name !== null ? toolChoice.name : null
  const tool = toolChoice === 'none' ? undefined : tools.find(({ name }) => wanted === null || name === wanted)
  if (tool && last?.role === 'user') return { kind: 'tool', name: tool.name, args: argumentsOf(tool, text) }
  return { kind: 'text', text: last?.role === 'tool' ? `The tool said: ${text}` : text }
}

/** A JSON object in the text, or the text for each string property that the schema requires. */
function argumentsOf(tool: OfferedTool, text: string): Readonly<Record<string, unknown>> {
  const stated = /\{[\s\S]*\}/.exec(text)?.[0]
  const object = stated === undefined ? undefined : boundedJson(stated)
  if (object !== undefined) return { ...Object(object) }
  const { properties = {}, required = Object.keys(Object(properties)) } = Object(tool.schema)
  return Object.fromEntries(
    (Array.isArray(required) ? required : []).map((name: unknown) => [
      jsonText(name),
      sampleOf(Object(Reflect.get(Object(properties), jsonText(name))), text),
    ]),
  )
}

function sampleOf(schema: Readonly<Record<string, unknown>>, text: string): unknown {
  const { enum: values, type } = schema
  if (Array.isArray(values)) return values.find((value) => text.includes(jsonText(value))) ?? values[0]
  const kind = jsonText(type).toLowerCase() // Google writes its types in capitals
  if (kind === 'number' || kind === 'integer') return Number.parseInt(/-?\d+/.exec(text)?.[0] ?? '0', 10)
  if (kind === 'boolean') return true
  if (kind === 'array') return []
  return kind === 'object' ? {} : text
}
