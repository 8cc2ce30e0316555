import type { Vendor } from './vendor'

/** OpenAI and every compatible server. */
export const OPENAI: Vendor = {
  url: ({ baseUrl }, { wire }) => `${baseUrl}/${wire.route === 'embeddings' ? 'embeddings' : 'chat/completions'}`,
  headers: (key) => (key === null ? {} : { authorization: `Bearer ${key}` }),
  // An exhausted quota also returns 429, but waiting does not help.
  isAboutUs: (_status, error) => error['code'] === 'insufficient_quota' || error['type'] === 'insufficient_quota',
  waitSeconds: () => null,
}
