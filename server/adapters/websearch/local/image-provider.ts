import type { ImageSearchInput } from '../../../core/catalogue/image-search'
import type { Provider } from '../../../core/providers/provider'
import type { IndexClient } from './index-client'
import { isIndexReady } from './index-readiness'

/** Image search over the local index. `country` and `search_lang` make no difference: its pictures belong to no country. */
export function imageProvider(client: IndexClient, baseUrl: string): Provider<ImageSearchInput> {
  return {
    name: 'local',
    call(input, signal) {
      const { q, count, safesearch } = input
      return client.ask({ kind: 'images', input: { q, count, includeAdult: safesearch === 'off' }, baseUrl }, signal)
    },
    ready: () => isIndexReady(client),
  }
}
