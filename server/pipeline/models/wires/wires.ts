import type { ModelRoute } from '../../../core/models/model'
import { MESSAGES } from './anthropic/messages-wire'
import { COUNT_CONTENT_TOKENS, COUNT_MESSAGE_TOKENS } from './count-tokens-wires'
import { BATCH_EMBED_CONTENTS, EMBED_CONTENT } from './google/embed-content-wires'
import { GENERATE_CONTENT } from './google/generate-content-wire'
import type { ModelWire } from './model-wire'
import { CHAT_COMPLETIONS } from './openai/chat-completions-wire'
import { COMPLETIONS } from './openai/completions-wire'
import { EMBEDDINGS } from './openai/embeddings-wire'
import { RERANK } from './openai/rerank-wire'
import { RESPONSES } from './openai/responses/responses-wire'
import { TRANSCRIPTIONS } from './openai/transcription-wire'
import { IMAGE_EDITS, IMAGE_GENERATIONS, MODERATIONS, SPEECH } from './openai/unit-wires'

export const WIRES: Readonly<Record<ModelRoute, ModelWire>> = {
  chat_completions: CHAT_COMPLETIONS,
  responses: RESPONSES,
  completions: COMPLETIONS,
  messages: MESSAGES,
  messages_count_tokens: COUNT_MESSAGE_TOKENS,
  generate_content: GENERATE_CONTENT,
  count_tokens: COUNT_CONTENT_TOKENS,
  embeddings: EMBEDDINGS,
  embed_content: EMBED_CONTENT,
  batch_embed_contents: BATCH_EMBED_CONTENTS,
  moderations: MODERATIONS,
  image_generations: IMAGE_GENERATIONS,
  image_edits: IMAGE_EDITS,
  speech: SPEECH,
  transcriptions: TRANSCRIPTIONS,
  rerank: RERANK,
}
