import {
  type ChatMessage,
  type ChatRequest,
  ENDPOINT_TYPES,
  type EndpointType,
} from '../../api/playground/chat-wires.ts'
import type { OfferedModel } from '../../api/playground/models.ts'
import { CHAT_TEXT as TEXT } from '../../messages/chat.ts'
import { costUsd, grouped } from '../../ui/format/money.ts'

/** What stands in the fields beside the conversation, as it was typed. */
export interface ChatSettings {
  readonly type: EndpointType
  readonly system: string
  readonly temperature: string
  readonly maxTokens: string
  readonly stream: boolean
}

export const FIRST_SETTINGS: ChatSettings = {
  type: 'chat_completions',
  system: '',
  temperature: '',
  maxTokens: '',
  stream: true,
}

const MAX_TEMPERATURE = 2

/** The wires that a model is spoken to in, in our order. */
export function typesOf(model: OfferedModel): readonly EndpointType[] {
  return ENDPOINT_TYPES.filter((type) => model.supported_endpoint_types.includes(type))
}

/** The chosen wire where the model speaks it, else the model's first. */
export function typeOf(model: OfferedModel, chosen: EndpointType): EndpointType {
  const types = typesOf(model)
  return types.includes(chosen) ? chosen : (types[0] ?? chosen)
}

/** What is wrong with a typed setting, or null. The server judges once more. */
export function temperatureProblem(values: string): string | null {
  const value = Number(values)
  return values.trim() === '' || (value >= 0 && value <= MAX_TEMPERATURE) ? null : TEXT.temperatureWrong
}

export function maxTokensProblem(values: string, model: OfferedModel): string | null {
  const value = Number(values)
  const most = model.max_output_tokens
  const fits = Number.isSafeInteger(value) && value >= 1 && (most === null || value <= most)
  return values.trim() === '' || fits ? null : TEXT.maxTokensWrong(maxTokensLabel(model))
}

export function maxTokensLabel({ max_output_tokens: most }: OfferedModel): string | null {
  return most === null ? null : grouped(most)
}

/** The question that the fields describe; what is wrong is left out, for the code beside the form. */
export function chatRequest(
  model: OfferedModel,
  settings: ChatSettings,
  messages: readonly ChatMessage[],
): ChatRequest {
  const number = (values: string, problem: string | null) =>
    values.trim() === '' || problem !== null ? null : Number(values)
  return {
    model: model.id,
    system: settings.system.trim(),
    messages,
    temperature: number(settings.temperature, temperatureProblem(settings.temperature)),
    maxTokens: number(settings.maxTokens, maxTokensProblem(settings.maxTokens, model)),
    stream: settings.stream,
  }
}

/** A price in USD per million tokens, as money is written here. */
export function formatPrice(usd: number): string {
  return costUsd(Math.round(usd * 1_000_000))
}

export function isFree({ pricing }: OfferedModel): boolean {
  return Object.values(pricing).every((usd) => usd === 0)
}
