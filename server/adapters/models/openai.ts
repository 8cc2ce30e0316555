import { isTranslated, type ModelRoute, type ModelUpstream } from '../../core/models/model'
import type { Vendor } from './vendor'

/** OpenAI and every compatible server. */
export const OPENAI: Vendor = {
  url: (upstream, { wire }) => `${upstream.baseUrl}/${pathOf(upstream, wire.route)}`,
  callHeaders: ({ request: { boundary } }) =>
    boundary === undefined ? null : { 'content-type': `multipart/form-data; boundary=${boundary}` },
  headers: (key) => (key === null ? {} : { authorization: `Bearer ${key}` }),
  // An exhausted quota also returns 429, but waiting does not help.
  isAboutUs: (_status, error) => error['code'] === 'insufficient_quota' || error['type'] === 'insufficient_quota',
  waitSeconds: () => null,
}

/** Routes that no chat completion can serve. */
const PATHS: Readonly<Partial<Record<ModelRoute, string>>> = {
  embeddings: 'embeddings',
  moderations: 'moderations',
  image_generations: 'images/generations',
  image_edits: 'images/edits',
  speech: 'audio/speech',
  transcriptions: 'audio/transcriptions',
  rerank: 'rerank',
}

function pathOf(upstream: ModelUpstream, route: ModelRoute): string {
  const own = PATHS[route]
  if (own !== undefined) return own
  return route === 'responses' && !isTranslated(upstream, route) ? 'responses' : 'chat/completions'
}
