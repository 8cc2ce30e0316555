import type { ImageSearchInput } from '../../../core/catalog/image-search'
import type { LlmContextInput } from '../../../core/catalog/llm-context'
import type { Provider } from '../../../core/providers/provider'
import type { PublishedGoggles } from '../goggles/published-goggles'
import { contextProvider } from './context-provider'
import { type IndexClient, isIndexReady, openIndexClient } from './index-client'

export interface LocalWebsearchOptions {
  /** The file that `ensureIndex` builds. Until it exists, calls get `unavailable`. No restart is needed once it does. */
  readonly indexPath: string
  /** The gateway's public URL, the prefix of the URLs of its own images. */
  readonly baseUrl: string
  /** Milliseconds since the UNIX epoch. */
  readonly now: () => number
  /** Resolves `goggles`. If absent, only inline ones work. */
  readonly goggles?: PublishedGoggles
}

export interface LocalWebsearch {
  readonly images: Provider<ImageSearchInput>
  readonly context: Provider<LlmContextInput>
  /** Ends the search threads. */
  close(): Promise<void>
}

/** The `local` websearch provider: both operations over one index file, searched on separate threads. */
export function openLocalWebsearch({ indexPath, baseUrl, now, goggles }: LocalWebsearchOptions): LocalWebsearch {
  const client = openIndexClient({ indexPath })
  return {
    images: imageProvider(client, baseUrl),
    context: contextProvider(client, goggles, baseUrl, now),
    close: () => client.close(),
  }
}

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
