import type { ImageSearchInput } from '../../../core/catalogue/image-search'
import type { LlmContextInput } from '../../../core/catalogue/llm-context'
import type { Provider } from '../../../core/providers/provider'
import type { PublishedGoggles } from '../goggles/published-goggles'
import { contextProvider } from './context-provider'
import { imageProvider } from './image-provider'
import { openIndexClient } from './index-client'

export interface LocalWebsearchOptions {
  /** The file `ensureIndex` builds. Until it is there, calls are answered `unavailable`; no restart is needed after. */
  readonly indexPath: string
  /** Where callers reach this gateway; the addresses of its own pictures start with it. */
  readonly baseUrl: string
  /** Milliseconds since the UNIX epoch. */
  readonly now: () => number
  /** Reads `goggles`. Absent: those that stand in the request only. */
  readonly goggles?: PublishedGoggles
}

export interface LocalWebsearch {
  readonly images: Provider<ImageSearchInput>
  readonly context: Provider<LlmContextInput>
  /** Ends the threads that search. */
  close(): Promise<void>
}

/** The `local` websearch provider: both operations over one index file, searched on threads of their own. */
export function openLocalWebsearch({ indexPath, baseUrl, now, goggles }: LocalWebsearchOptions): LocalWebsearch {
  const client = openIndexClient({ indexPath })
  return {
    images: imageProvider(client, baseUrl),
    context: contextProvider(client, goggles, baseUrl, now),
    close: () => client.close(),
  }
}
