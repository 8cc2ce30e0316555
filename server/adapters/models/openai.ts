import type { Vendor } from './vendor'

/** OpenAI, and every server that speaks as it does. */
export const OPENAI: Vendor = {
  url: ({ baseUrl }) => `${baseUrl}/chat/completions`,
  headers: (key) => (key === null ? {} : { authorization: `Bearer ${key}` }),
  // A spent quota comes as 429, and no waiting mends it.
  isAboutUs: (_status, error) => error['code'] === 'insufficient_quota' || error['type'] === 'insufficient_quota',
  waitSeconds: () => null,
}
