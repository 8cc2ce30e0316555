import type { Static } from '@sinclair/typebox'
import type { ModelRecord } from './record'
import type { AnthropicModel, GoogleModel } from './vendor-record'

export const MODEL_EXAMPLE: ModelRecord = {
  id: 'sandbox/echo',
  object: 'model',
  created: 1_767_225_600,
  owned_by: 'sandbox',
  recharge_required: false,
  supported_endpoint_types: [
    'chat_completions',
    'responses',
    'completions',
    'messages',
    'messages_count_tokens',
    'generate_content',
    'count_tokens',
  ],
  pricing: { input: 0, output: 0, cache_read: 0, cache_write: 0 },
  price_version: 'sandbox',
  context_tokens: 524_288,
  max_output_tokens: null,
}

export const ANTHROPIC_EXAMPLE: Static<typeof AnthropicModel> = {
  type: 'model',
  id: 'sandbox/echo',
  display_name: 'sandbox/echo',
  created_at: '2026-01-01T00:00:00.000Z',
  lifecycle: 'active',
  deprecated_at: null,
  retires_at: null,
  line: null,
  capabilities: null,
  max_input_tokens: 524_288,
  max_tokens: null,
  recharge_required: false,
}

export const GOOGLE_EXAMPLE: Static<typeof GoogleModel> = {
  name: 'models/sandbox/echo',
  baseModelId: 'sandbox/echo',
  version: 'sandbox',
  displayName: 'sandbox/echo',
  inputTokenLimit: 524_288,
  supportedGenerationMethods: ['generateContent', 'streamGenerateContent', 'countTokens'],
  recharge_required: false,
}
