import { elementsOf, isJson, type Json, jsonText } from '../../../../../core/json'
import type { ModelRequest } from '../../model-request'
import type { UpstreamWire } from '../../model-wire'
import { CHAT_COMPLETIONS } from '../chat-completions-wire'
import { chatBodyFor, OverChatMeter } from '../over-chat'
import { calledTool, callItemId, messageOf, partOf, type TextKind, toolCallOf } from './output-items'
import { ResponseEvents } from './response-events'
import { incompleteReason, ResponseFrame } from './response-frame'

/** Responses by an upstream that speaks chat completions only. */
export const RESPONSES_OVER_CHAT: UpstreamWire = {
  bodyFor: chatBodyFor,
  usageOf: CHAT_COMPLETIONS.usageOf,
  textBytes: CHAT_COMPLETIONS.textBytes,
  answerOf(answer, request) {
    const [choice] = elementsOf(answer['choices'])
    if (!isJson(choice)) return null
    return new TextEncoder().encode(responseOf(request, answer, choice))
  },
  meter: (request, path) => new OverChatMeter(request, path, new ResponseEvents(request)),
}

function responseOf(request: ModelRequest, answer: Json, { message, finish_reason: finish }: Json): string {
  const frame = new ResponseFrame(request, answer)
  const reason = incompleteReason(finish)
  const status = reason === null ? 'completed' : 'incomplete'
  const { content, refusal, tool_calls: calls } = isJson(message) ? message : {}
  const parts = (
    [
      ['output_text', content],
      ['refusal', refusal],
    ] satisfies [TextKind, unknown][]
  ).flatMap(([kind, text]) => (typeof text === 'string' && text !== '' ? [partOf(kind, text)] : []))
  const called = elementsOf(calls)
    .filter(isJson)
    .map(({ id, function: made }, at) => {
      const { name, arguments: text } = isJson(made) ? made : {}
      const own = `${frame.id}_${at}`
      const callId = typeof id === 'string' && id !== '' ? id : `call_${own}`
      const tool = calledTool(jsonText(name), request.chat?.others)
      return toolCallOf({ id: callItemId(tool, own), callId, tool, text: jsonText(text ?? '') }, status)
    })
  const hasMessage = parts.length > 0 || called.length === 0
  const messageParts = parts.length > 0 ? parts : [partOf('output_text', '')]
  return frame.json({
    status,
    reason,
    output: [...(hasMessage ? [messageOf(`msg_${frame.id}`, status, messageParts)] : []), ...called],
    usage: answer['usage'],
  })
}
