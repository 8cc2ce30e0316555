import { elementsOf, isJson, type Json, jsonText } from '../../../../../core/json'
import { IN_BOTH } from '../../harmless-members'
import type { ChatEquivalent } from '../../model-request'
import { ChatMessages } from './chat-messages'
import { isOffTool, toolsOf } from './responses-members'
import { ToolNames } from './tool-names'

/** Members that have the same name and meaning in both. */
const SAME = ['temperature', 'top_p', 'user', ...IN_BOTH]

/**
 * A Responses call as a chat completion. Left out, because they change nothing that is answered: `metadata`, `store`, hints about
 * caching, summaries of the reasoning, and `include` of reasoning, which a chat completion does not return.
 */
export function chatFormOf(json: Json): ChatEquivalent {
  const names = new ToolNames(toolsOf(json))
  const messages = new ChatMessages(names)
  if (typeof json['instructions'] === 'string') messages.system(json['instructions'])
  messages.addInput(json['input'])
  const tools = names.tools.filter((tool) => !isOffTool(tool))
  const text = object(json['text'])
  const beyond = [messages.beyond, ...beyondChat(json, tools)].find((path) => path !== null) ?? null
  const body = {
    messages: messages.list,
    ...Object.fromEntries(SAME.map((name) => [name, json[name] ?? undefined])),
    reasoning_effort: object(json['reasoning'])['effort'] ?? undefined,
    verbosity: text['verbosity'] ?? undefined,
    ...formatOf(object(text['format'])),
    ...(tools.length > 0 && {
      tools: tools.map(toolOf),
      tool_choice: choiceOf(json['tool_choice'], names),
      parallel_tool_calls: json['parallel_tool_calls'] ?? undefined,
    }),
  }
  return { body: new TextEncoder().encode(JSON.stringify(body)), beyond, others: names.others }
}

/** Tools that become functions. */
const IN_CHAT: ReadonlySet<unknown> = new Set(['function', 'custom', 'tool_search'])

/** The settings that a chat completion cannot express, as paths. */
function beyondChat(json: Json, tools: readonly Json[]): readonly string[] {
  const choice = object(json['tool_choice'])['type']
  const type = object(object(json['text'])['format'])['type'] ?? 'text'
  const isKnown = type === 'text' || type === 'json_object' || type === 'json_schema'
  const logprobs = elementsOf(json['include']).includes('message.output_text.logprobs')
  return [
    ...tools.flatMap((tool) => (IN_CHAT.has(tool['type']) ? [] : [`tools.${jsonText(tool['type'])}`])),
    ...(choice === undefined || choice === 'function' || choice === 'custom'
      ? []
      : [`tool_choice.${jsonText(choice)}`]),
    ...(isKnown ? [] : ['text.format']),
    ...(json['top_logprobs'] ? ['top_logprobs'] : []),
    ...(logprobs ? ['include.message.output_text.logprobs'] : []),
    ...(json['truncation'] === 'auto' ? ['truncation'] : []),
  ]
}

function formatOf({ type, ...format }: Json) {
  if (type === 'json_object') return { response_format: { type } }
  if (type !== 'json_schema') return {}
  const { name, description, schema, strict } = format
  return {
    response_format: {
      type,
      json_schema: { name, description: description ?? undefined, schema, strict: strict ?? undefined },
    },
  }
}

/** A tool that takes text, as a function. */
const TEXT_INPUT = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
  additionalProperties: false,
}

function toolOf({ type, name, description, format, parameters, strict }: Json) {
  if (type === 'custom') {
    const { syntax, definition } = object(format)
    const rule =
      definition === undefined
        ? ''
        : `\n\nThe input is text in this ${jsonText(syntax)} grammar:\n${jsonText(definition)}`
    return {
      type: 'function',
      function: { name, description: `${jsonText(description ?? '')}${rule}`, parameters: TEXT_INPUT },
    }
  }
  return {
    type: 'function',
    function: {
      name,
      description: description ?? undefined,
      parameters: parameters ?? undefined,
      strict: strict ?? undefined,
    },
  }
}

function choiceOf(choice: unknown, names: ToolNames): unknown {
  if (isJson(choice)) return { type: 'function', function: { name: names.inChat(choice['namespace'], choice['name']) } }
  return choice ?? undefined
}

function object(value: unknown): Json {
  return isJson(value) ? value : {}
}
