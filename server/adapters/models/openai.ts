import { isTranslated, type ModelRoute, type ModelUpstream } from '../../core/models/model'
import type { Vendor } from './vendor'

/** OpenAI and every compatible server. */
export const OPENAI: Vendor = {
  url: (upstream, { wire }) => `${upstream.baseUrl}/${pathOf(upstream, wire.route)}`,
  headers: (key) => (key === null ? {} : { authorization: `Bearer ${key}` }),
  // An exhausted quota also returns 429, but waiting does not help.
  isAboutUs: (_status, error) => error['code'] === 'insufficient_quota' || error['type'] === 'insufficient_quota',
  waitSeconds: () => null,
}

function pathOf(upstream: ModelUpstream, route: ModelRoute): string {
  if (route === 'embeddings') return 'embeddings'
  return route === 'responses' && !isTranslated(upstream, route) ? 'responses' : 'chat/completions'
}
