import { elementsOf, isJson, type Json, jsonText } from '../../../core/json'
import { contentText, type OfferedTool, type Prompt, type Turn } from './prompt'
import type { SandboxAnswer, SandboxFormat } from './sandbox-format'

/** Chat completions, in and out. */
export const CHAT_FORMAT: SandboxFormat = {
  prompt(body): Prompt {
    const choice = body['tool_choice']
    const named = isJson(choice) && isJson(choice['function']) ? jsonText(choice['function']['name']) : null
    return {
      turns: elementsOf(body['messages']).filter(isJson).map(firstTurn),
      tools: elementsOf(body['tools']).flatMap(toolOf),
      toolChoice: choice === 'none' ? 'none' : choice === 'required' || named !== null ? { name: named } : 'auto',
    }
  },
  plain({ id, model, created, reply, text, finish, usage }) {
    const message =
      reply.kind === 'text'
        ? { role: 'assistant', content: text, refusal: null }
        : { role: 'assistant', content: null, refusal: null, tool_calls: [call(id, reply.name, reply.args)] }
    return {
      id: `chatcmpl-${id}`,
      object: 'chat.completion',
      created,
      model,
      choices: [{ index: 0, message, logprobs: null, finish_reason: reasonOf(reply.kind, finish) }],
      usage: usageOf(usage),
    }
  },
  events({ id, model, created, reply, pieces, finish, usage }) {
    const base = { id: `chatcmpl-${id}`, object: 'chat.completion.chunk', created, model }
    const chunk = (delta: object, reason: string | null = null) =>
      data({ ...base, choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }], usage: null })
    const calls =
      reply.kind === 'tool' ? [chunk({ tool_calls: [{ index: 0, ...call(id, reply.name, reply.args) }] })] : []
    return [
      chunk({ role: 'assistant', content: '' }),
      ...pieces.map((content) => chunk({ content })),
      ...calls,
      chunk({}, reasonOf(reply.kind, finish)),
      data({ ...base, choices: [], usage: usageOf(usage) }),
      'data: [DONE]\n\n',
    ]
  },
}

const ROLES = new Map<unknown, Turn['role']>([
  ['system', 'system'],
  ['developer', 'system'],
  ['assistant', 'assistant'],
  ['tool', 'tool'],
])

function firstTurn({ role, content }: Json): Turn {
  return { role: ROLES.get(role) ?? 'user', text: contentText(content) }
}

function toolOf(tool: unknown): OfferedTool[] {
  const made = isJson(tool) && isJson(tool['function']) ? tool['function'] : null
  return made ? [{ name: jsonText(made['name']), schema: made['parameters'] }] : []
}

function call(id: string, name: string, args: object) {
  return { id: `call_${id}`, type: 'function', function: { name, arguments: JSON.stringify(args) } }
}

function reasonOf(kind: 'text' | 'tool', finish: SandboxAnswer['finish']): string {
  return kind === 'tool' ? 'tool_calls' : finish
}

function usageOf({ input, output }: SandboxAnswer['usage']) {
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
}

function data(json: object): string {
  return `data: ${JSON.stringify(json)}\n\n`
}
