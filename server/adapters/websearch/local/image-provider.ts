import type { ImageSearchInput } from '../../../core/catalog/image-search'
import type { Provider } from '../../../core/providers/provider'
import type { IndexClient } from './index-client'
import { isIndexReady } from './index-readiness'

/** Image search over the local index. */
export function imageProvider(client: IndexClient, baseUrl: string): Provider<ImageSearchInput> {
  return {
    name: 'local',
    isLocal: true,
    call(input, signal, { caller }) {
      const { q, count, spellcheck } = input
      const region = { country: input.country, language: input.search_lang }
      const maxAdult = input.safesearch === 'off' ? 2 : 0
      const question = { q, count, spellcheck, region, maxAdult }
      return client.ask({ kind: 'images', input: question, baseUrl }, caller, signal)
    },
    ready: () => isIndexReady(client),
  }
}
