import { isJson, type Json, jsonText, membersOf } from '../../../../../core/json'
import { digestOf } from '../../../../../core/payments/binding'
import type { ModelRequest } from '../../model-request'

/** Settings of the call that every answer repeats, with the JSON of what applies without them. */
const ECHOED = {
  instructions: 'null',
  max_output_tokens: 'null',
  max_tool_calls: 'null',
  metadata: '{}',
  parallel_tool_calls: 'true',
  reasoning: '{"effort":null,"summary":null}',
  temperature: '1',
  text: '{"format":{"type":"text"}}',
  tool_choice: '"auto"',
  tools: '[]',
  top_p: '1',
  truncation: '"disabled"',
  user: 'null',
} as const

/** Why an answer ended, as a Responses object says it. */
export interface ResponseState {
  readonly status: 'in_progress' | 'completed' | 'incomplete' | 'failed'
  readonly output: readonly object[]
  readonly usage: unknown
  readonly error?: object
  readonly reason?: string | null
}

/** The parts of a Responses object that come from the call, and from the head of a chat completion. */
export class ResponseFrame {
  /** The parts of its ids. */
  readonly id: string
  private readonly head: object
  private readonly echo: string

  constructor(request: ModelRequest, chat: Json) {
    const { id, created, model } = chat
    // Some servers number their answers from a small range, so the id alone is not unique.
    const source = `${jsonText(id)} ${jsonText(created)} ${request.bytes.length}`
    this.id = Buffer.from(digestOf(source), 'base64url').toString('hex', 0, 16)
    this.head = {
      id: `resp_${this.id}`,
      object: 'response',
      created_at: typeof created === 'number' ? created : 0,
      model: typeof model === 'string' ? model : request.model,
    }
    this.echo = Object.entries(ECHOED)
      .map(([name, usual]) => `"${name}":${given(request, name) ?? usual}`)
      .join(',')
  }

  /** The object as JSON on one line. */
  json({ status, output, usage, error, reason }: ResponseState): string {
    const own = JSON.stringify({
      ...this.head,
      status,
      background: false,
      error: error ?? null,
      incomplete_details: reason ? { reason } : null,
      output,
      previous_response_id: null,
      service_tier: 'default',
      store: false,
      usage: usageOf(usage),
    })
    return `${own.slice(0, -1)},${this.echo}}`
  }
}

/** The text of a member of the call; null if it is missing. */
function given({ bytes, members }: ModelRequest, name: string): string | null {
  const member = members.get(name)
  if (!member) return null
  // A line break inside a string is escaped, so every raw one is only space, which would cut an event.
  const text = new TextDecoder().decode(bytes.subarray(member.start, member.end)).replace(/[\r\n]+/g, ' ')
  return text === 'null' ? null : text
}

function usageOf(usage: unknown): object | null {
  if (!isJson(usage)) return null
  const [input, output] = [numberOf(usage['prompt_tokens']), numberOf(usage['completion_tokens'])]
  const [read, written] = [membersOf(usage['prompt_tokens_details']), membersOf(usage['completion_tokens_details'])]
  return {
    input_tokens: input,
    input_tokens_details: {
      cached_tokens: numberOf(read['cached_tokens']),
      cache_write_tokens: numberOf(read['cache_write_tokens']),
    },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: numberOf(written['reasoning_tokens']) },
    total_tokens: input + output,
  }
}

function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : 0
}

/** Why a chat completion with this `finish_reason` is incomplete; null if it is complete. */
export function incompleteReason(finish: unknown): string | null {
  return finish === 'length' ? 'max_output_tokens' : finish === 'content_filter' ? 'content_filter' : null
}
