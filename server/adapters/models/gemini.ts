import type { ModelRoute } from '../../core/models/model'
import type { Vendor, VendorError } from './vendor'

/** The methods other than generateContent. */
const PLAIN_METHODS: Readonly<Partial<Record<ModelRoute, string>>> = {
  count_tokens: 'countTokens',
  embed_content: 'embedContent',
  batch_embed_contents: 'batchEmbedContents',
}

export const GEMINI: Vendor = {
  url({ baseUrl, model }, { wire, path }) {
    const action = path.stream ? 'streamGenerateContent' : (PLAIN_METHODS[wire.route] ?? 'generateContent')
    return `${baseUrl}/models/${encodeURIComponent(model)}:${action}${path.events ? '?alt=sse' : ''}`
  },
  headers: (key) => (key === null ? {} : { 'x-goog-api-key': key }),
  // An invalid key returns 400.
  isAboutUs: (_status, error) => details(error).some(({ reason }) => reason === 'API_KEY_INVALID'),
  waitSeconds(error) {
    for (const { retryDelay } of details(error)) {
      const seconds = typeof retryDelay === 'string' ? /^(\d+(?:\.\d+)?)s$/.exec(retryDelay)?.[1] : undefined
      if (seconds !== undefined) return Number(seconds)
    }
    return null
  },
}

function details(error: VendorError): readonly Readonly<Record<string, unknown>>[] {
  const list = error['details']
  return Array.isArray(list) ? list.map((detail: unknown) => ({ ...Object(detail) })) : []
}
