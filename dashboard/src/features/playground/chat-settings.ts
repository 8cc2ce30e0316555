import {
  type ChatMessage,
  type ChatRequest,
  ENDPOINT_TYPES,
  type EndpointType,
} from '../../api/playground/chat-wires.ts'
import type { OfferedModel } from '../../api/playground/models.ts'
import { CHAT_TEXT as TEXT } from '../../messages/chat.ts'
import { costUsd, grouped } from '../../ui/format/money.ts'

/** The settings next to the conversation, as entered. */
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

/** The API formats that a model supports, in display order. */
export function typesOf(model: OfferedModel): readonly EndpointType[] {
  return ENDPOINT_TYPES.filter((type) => model.supported_endpoint_types.includes(type))
}

/** The selected format if the model supports it, otherwise the model's first. */
export function selectedType(model: OfferedModel, chosen: EndpointType): EndpointType {
  const types = typesOf(model)
  return types.includes(chosen) ? chosen : (types[0] ?? chosen)
}

/** The error of a setting, or null. The server validates it again. */
export function temperatureProblem(values: string): string | null {
  const value = Number(values)
  return values.trim() === '' || (value >= 0 && value <= MAX_TEMPERATURE) ? null : TEXT.temperatureWrong
}

export function maxTokensProblem(values: string, model: OfferedModel): string | null {
  const value = Number(values)
  const max = model.max_output_tokens
  const fits = Number.isSafeInteger(value) && value >= 1 && (max === null || value <= max)
  return values.trim() === '' || fits ? null : TEXT.maxTokensWrong(maxTokensLabel(model))
}

export function maxTokensLabel({ max_output_tokens: max }: OfferedModel): string | null {
  return max === null ? null : grouped(max)
}

/** The request that the settings describe. Invalid settings are left out, so that the code next to the form can be shown. */
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

/** Formats a price in USD per million tokens; models that chat have all of them. */
export function formatPrice(usd = 0): string {
  return costUsd(Math.round(usd * 1_000_000))
}

export function isFree({ pricing }: OfferedModel): boolean {
  return Object.values(pricing).every((usd) => usd === 0)
}
