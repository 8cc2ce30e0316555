import { elementsOf, isJson, type Json, jsonText } from '../../../core/json'
import { contentText, type Prompt, type SandboxReply, type Turn } from './prompt'
import type { SandboxAnswer, SandboxFormat } from './sandbox-format'

/** Anthropic's messages, in and out. */
export const MESSAGES_FORMAT: SandboxFormat = {
  prompt(body): Prompt {
    const choice = isJson(body['tool_choice']) ? body['tool_choice'] : {}
    const system = contentText(body['system'])
    return {
      turns: [
        ...(system === '' ? [] : [{ role: 'system' as const, text: system }]),
        ...elementsOf(body['messages']).filter(isJson).flatMap(turnsOf),
      ],
      tools: elementsOf(body['tools'])
        .filter(isJson)
        .map((tool) => ({ name: jsonText(tool['name']), schema: tool['input_schema'] })),
      toolChoice:
        choice['type'] === 'none'
          ? 'none'
          : choice['type'] === 'any' || choice['type'] === 'tool'
            ? { name: choice['type'] === 'tool' ? jsonText(choice['name']) : null }
            : 'auto',
    }
  },
  plain(sent) {
    return {
      ...messageOf(sent),
      content: [blockOf(sent.id, sent.reply, sent.text)],
      ...stopOf(sent),
      usage: usageOf(sent.usage),
    }
  },
  events(sent) {
    const { id, reply, pieces, usage } = sent
    const deltas =
      reply.kind === 'tool'
        ? [{ type: 'input_json_delta', partial_json: JSON.stringify(reply.args) }]
        : pieces.map((text) => ({ type: 'text_delta', text }))
    const empty = reply.kind === 'tool' ? { ...blockOf(id, reply, ''), input: {} } : blockOf(id, reply, '')
    return [
      event('message_start', {
        message: {
          ...messageOf(sent),
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: usageOf({ ...usage, output: 1 }),
        },
      }),
      event('content_block_start', { index: 0, content_block: empty }),
      event('ping', {}),
      ...deltas.map((delta) => event('content_block_delta', { index: 0, delta })),
      event('content_block_stop', { index: 0 }),
      event('message_delta', { delta: stopOf(sent), usage: { output_tokens: usage.output } }),
      event('message_stop', {}),
    ]
  },
}

function turnsOf(message: Json): Turn[] {
  const { role, content } = message
  const results = elementsOf(content).filter((block) => isJson(block) && block['type'] === 'tool_result')
  const text = contentText(content)
  const turns: Turn[] = text === '' ? [] : [{ role: role === 'assistant' ? 'assistant' : 'user', text }]
  return [...turns, ...results.map((block) => ({ role: 'tool' as const, text: contentText(Object(block)['content']) }))]
}

function messageOf({ id, model }: SandboxAnswer) {
  return { id: `msg_${id}`, type: 'message', role: 'assistant', model }
}

function blockOf(id: string, reply: SandboxReply, text: string) {
  return reply.kind === 'text'
    ? { type: 'text', text }
    : { type: 'tool_use', id: `toolu_${id}`, name: reply.name, input: reply.args }
}

function stopOf({ reply, finish }: SandboxAnswer) {
  const reason = reply.kind === 'tool' ? 'tool_use' : finish === 'length' ? 'max_tokens' : 'end_turn'
  return { stop_reason: reason, stop_sequence: null }
}

function usageOf({ input, output }: SandboxAnswer['usage']) {
  return { input_tokens: input, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: output }
}

function event(type: string, data: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`
}
