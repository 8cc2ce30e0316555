import type { ImageSearchInput } from '../../../core/catalog/image-search'
import type { LlmContextInput } from '../../../core/catalog/llm-context'
import type { Provider } from '../../../core/providers/provider'
import type { PublishedGoggles } from '../goggles/published-goggles'
import { contextProvider } from './context-provider'
import { imageProvider } from './image-provider'
import { openIndexClient } from './index-client'

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
