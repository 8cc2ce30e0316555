import type { BuiltInName, SoldName } from '../../../../../server/core/catalog/operation.ts'

/** The built-in operations that a key can be restricted to. A sold one that is missing here does not compile. */
const SOLD: Readonly<Record<BuiltInName, true>> = {
  'image-search': true,
  'llm-context': true,
  'chat-completions': true,
  responses: true,
  completions: true,
  messages: true,
  'generate-content': true,
  'count-tokens': true,
  embeddings: true,
  moderations: true,
  'image-generation': true,
  'image-edit': true,
  speech: true,
  transcription: true,
  rerank: true,
  'deep-research': true,
  'social-follow': true,
  'social-unfollow': true,
  'social-like': true,
  'social-unlike': true,
  'social-post': true,
  'social-delete': true,
  'social-dm': true,
  'social-user': true,
  'social-dm-threads': true,
}

export type Endpoint = SoldName

/** In display order. */
export const ENDPOINTS: readonly BuiltInName[] = Object.keys(SOLD).filter((name): name is BuiltInName => name in SOLD)
