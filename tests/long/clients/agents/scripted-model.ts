import { elementsOf, isJson, type Json, jsonText } from '../../../../server/core/json'
import { anthropic, eventStream, gemini, openAi, type Received } from '../../../support/vendor-double'

/** A call of one of an agent's own tools. */
export interface ToolUse {
  readonly tool: string
  /** The group that the tool is from, in Responses. */
  readonly namespace?: string
  /** Whether the tool takes text, which is the member `input` of `args`. */
  readonly isText?: boolean
  readonly args: object
}

/** The tokens of each answer. */
export const USAGE = { input: 1000, output: 20 }
const LAST_WORDS = 'All turns are done.'
/** Further requests of agents: a title, a summary. Some read it as JSON. */
const ASIDE = '{"title": "Ten turns", "summary": "Ten turns"}'

/** A vendor's answer to one call: the use of a tool, or text. */
export interface Turn {
  readonly use: ToolUse | null
  readonly text: string
}

/** The turn that a model that follows `script` takes: the results of tools in the conversation say how far it is. */
export function turnOf(body: Json, script: readonly ToolUse[]): Turn {
  const done = resultsIn(body).length
  const use = script[done] ?? null
  if (!offeredTools(body).has(script[0]?.tool ?? '')) return { use: null, text: ASIDE }
  return { use, text: use ? '' : LAST_WORDS }
}

/** The names of the tools that a call offers, in whichever API. */
function offeredTools(body: Json): ReadonlySet<string> {
  const items = elementsOf(body['input']).map((item) => Object(item).tools)
  const tools = [body['tools'], ...items].flatMap(elementsOf).filter(isJson)
  const inside = tools.flatMap((tool) => [...elementsOf(tool['tools']), ...elementsOf(tool['functionDeclarations'])])
  const all = [...tools, ...tools.map((tool) => tool['function']), ...inside]
  return new Set(all.map((tool) => jsonText(Object(tool).name).replace(/^functions__/, '')))
}

/** The results of tools in a conversation, as text, in whichever API. */
export function resultsIn(body: Json): readonly string[] {
  const turns = [...elementsOf(body['messages']), ...elementsOf(body['input']), ...elementsOf(body['contents'])]
  return turns.filter(isJson).flatMap((turn) => {
    const isResult = turn['role'] === 'tool' || /^(function|custom_tool)_call_output$/.test(jsonText(turn['type']))
    const parts = [...elementsOf(turn['content']), ...elementsOf(turn['parts'])].filter(
      (part) => isJson(part) && (part['type'] === 'tool_result' || 'functionResponse' in part),
    )
    return isResult ? [JSON.stringify(turn)] : parts.map((part) => JSON.stringify(part))
  })
}

/** The answer in the API of the call. */
export function answerTo({ path, body }: Received, turn: Turn): Response {
  const number = resultsIn(body).length
  const [route = ''] = path.split('?')
  if (/enerateContent$/.test(route)) return googleAnswer(route, turn)
  if (route.endsWith('/messages')) return messagesAnswer(body, turn, number)
  return route.endsWith('/responses') ? responsesAnswer(body, turn, number) : chatAnswer(body, turn, number)
}

function chatAnswer(body: Json, { use, text }: Turn, number: number): Response {
  const called = use && {
    index: 0,
    id: `call_${number}`,
    type: 'function',
    // As the gateway names it to a chat.
    function: { name: use.namespace ? `${use.namespace}__${use.tool}` : use.tool, arguments: JSON.stringify(use.args) },
  }
  if (body['stream'] !== true) {
    const message = { role: 'assistant', content: called ? null : text, ...(called && { tool_calls: [called] }) }
    return openAi.plain(text, USAGE, { message, finish_reason: called ? 'tool_calls' : 'stop' })
  }
  if (!called) return eventStream(openAi.words([text], USAGE))
  const call = openAi.chunk({ role: 'assistant', content: null, tool_calls: [called] })
  return eventStream([call, openAi.chunk({}, 'tool_calls'), openAi.total(USAGE), openAi.done])
}

function responsesAnswer(body: Json, { use, text }: Turn, number: number): Response {
  const item = use
    ? {
        id: `fc_${number}`,
        type: use.isText ? 'custom_tool_call' : 'function_call',
        status: 'completed',
        call_id: `call_${number}`,
        namespace: use.namespace,
        name: use.tool,
        ...(use.isText ? use.args : { arguments: JSON.stringify(use.args) }),
      }
    : {
        id: `msg_${number}`,
        type: 'message',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', text, annotations: [] }],
      }
  const { input, output } = USAGE
  const usage = {
    input_tokens: input,
    output_tokens: output,
    total_tokens: input + output,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens_details: { reasoning_tokens: 0 },
  }
  const response = { id: `resp_${number}`, object: 'response', status: 'completed', output: [item], usage }
  if (body['stream'] !== true) return Response.json(response)
  const event = (type: string, more: object, at: number) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: at, ...more })}\n\n`
  return eventStream([
    event('response.created', { response: { ...response, status: 'in_progress', output: [], usage: null } }, 0),
    event('response.output_item.added', { output_index: 0, item }, 1),
    event('response.output_item.done', { output_index: 0, item }, 2),
    event('response.completed', { response }, 3),
  ])
}

function messagesAnswer(body: Json, { use, text }: Turn, number: number): Response {
  const block = use
    ? { type: 'tool_use', id: `toolu_${number}`, name: use.tool, input: use.args }
    : { type: 'text', text }
  const reason = use ? 'tool_use' : 'end_turn'
  if (body['stream'] !== true) return anthropic.plain(text, USAGE, [block])
  if (!use) return eventStream(anthropic.words([text], USAGE))
  const delta = { type: 'input_json_delta', partial_json: JSON.stringify(use.args) }
  return eventStream([
    anthropic.start(USAGE),
    anthropic.event('content_block_start', { index: 0, content_block: { ...block, input: {} } }),
    anthropic.event('content_block_delta', { index: 0, delta }),
    anthropic.event('content_block_stop', { index: 0 }),
    anthropic.event('message_delta', { delta: { stop_reason: reason }, usage: { output_tokens: USAGE.output } }),
    anthropic.event('message_stop', {}),
  ])
}

function googleAnswer(path: string, { use, text }: Turn): Response {
  const parts = use ? [{ functionCall: { name: use.tool, args: use.args } }] : [{ text }]
  const usage = { promptTokenCount: USAGE.input, candidatesTokenCount: USAGE.output }
  const body = gemini.body(text, usage, 'STOP', parts)
  return path.includes('stream') ? eventStream([`data: ${JSON.stringify(body)}\r\n\r\n`]) : Response.json(body)
}
