import { elementsOf, isJson, type Json, jsonText } from '../../../core/json'
import { joinedTexts, type Prompt, type SandboxReply, type Turn } from './prompt'
import type { SandboxAnswer, SandboxFormat } from './sandbox-format'

/** Gemini's generateContent, in and out. */
export const GEMINI_FORMAT: SandboxFormat = {
  prompt(body): Prompt {
    const config = object(body['toolConfig'] ?? body['tool_config'])
    const calling = object(config['functionCallingConfig'] ?? config['function_calling_config'])
    const names = elementsOf(calling['allowedFunctionNames'])
    const system = joinedTexts(object(body['systemInstruction'] ?? body['system_instruction'])['parts'])
    const contents = Array.isArray(body['contents']) ? body['contents'] : [body['contents']]
    return {
      turns: [
        ...(system === '' ? [] : [{ role: 'system' as const, text: system }]),
        ...contents.filter(isJson).flatMap(turnsOf),
      ],
      tools: elementsOf(body['tools'])
        .filter(isJson)
        .flatMap((tool) => elementsOf(tool['functionDeclarations'] ?? tool['function_declarations']))
        .filter(isJson)
        .map((made) => ({ name: jsonText(made['name']), schema: made['parameters'] ?? made['parametersJsonSchema'] })),
      toolChoice:
        calling['mode'] === 'NONE'
          ? 'none'
          : calling['mode'] === 'ANY'
            ? { name: names[0] === undefined ? null : jsonText(names[0]) }
            : 'auto',
    }
  },
  plain: (sent) => answer(sent, partOf(sent.reply, sent.text), reasonOf(sent), true),
  events(sent) {
    const { reply, pieces } = sent
    const parts = reply.kind === 'tool' ? [partOf(reply, '')] : pieces.map((text) => ({ text }))
    const texts = parts.length === 0 ? [{ text: '' }] : parts
    return texts.map(
      (part, i) =>
        `data: ${JSON.stringify(answer(sent, part, i === texts.length - 1 ? reasonOf(sent) : null, i === texts.length - 1))}\r\n\r\n`,
    )
  },
}

function answer({ id, model, usage }: SandboxAnswer, part: object, finishReason: string | null, whole: boolean) {
  return {
    candidates: [{ content: { parts: [part], role: 'model' }, ...(finishReason && { finishReason }), index: 0 }],
    usageMetadata: {
      promptTokenCount: usage.input,
      ...(whole && { candidatesTokenCount: usage.output }),
      totalTokenCount: usage.input + (whole ? usage.output : 0),
    },
    modelVersion: model,
    responseId: id,
  }
}

function turnsOf(content: Json): Turn[] {
  const parts = elementsOf(content['parts']).filter(isJson)
  const text = joinedTexts(parts)
  const turns: Turn[] = text === '' ? [] : [{ role: content['role'] === 'model' ? 'assistant' : 'user', text }]
  const results = parts.flatMap((part) => {
    const response = part['functionResponse'] ?? part['function_response']
    return isJson(response) ? [{ role: 'tool' as const, text: JSON.stringify(response['response'] ?? null) }] : []
  })
  return [...turns, ...results]
}

function partOf(reply: SandboxReply, text: string) {
  return reply.kind === 'text' ? { text } : { functionCall: { name: reply.name, args: reply.args } }
}

function reasonOf({ finish }: SandboxAnswer): string {
  return finish === 'length' ? 'MAX_TOKENS' : 'STOP'
}

function object(value: unknown): Json {
  return isJson(value) ? value : {}
}
