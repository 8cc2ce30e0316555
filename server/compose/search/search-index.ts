import { type EnsureIndexOptions, ensureIndex } from '../../adapters/websearch/local/build/ensure-index'
import type { indexSources } from './index-sources'

/** The search index at the start, and whether searches can be answered meanwhile. */
export class SearchIndex {
  private readonly sources: ReturnType<typeof indexSources>
  private readonly canSearch: () => Promise<boolean>
  private isBuilding = false

  /** `canSearch` says whether any provider of searches can respond. */
  constructor(sources: ReturnType<typeof indexSources>, canSearch: () => Promise<boolean>) {
    this.sources = sources
    this.canSearch = canSearch
  }

  /** Builds the index if it is missing or outdated, on a thread of its own, while the server serves, unless `built` says that it is there. `ensure` is for tests. */
  async prepare(
    onProgress: (done: number, total: number) => void,
    ensure: (options: EnsureIndexOptions) => Promise<unknown> = ensureIndex,
    built: Promise<boolean> = Promise.resolve(false),
  ): Promise<void> {
    this.isBuilding = true
    if (!(await built)) await ensure({ ...this.sources, onProgress: ({ done, total }) => onProgress(done, total) })
    this.isBuilding = false
  }

  /**
   * Why searches cannot be answered yet, for `/ready`; null if they can. Once the index is built it is always null: a provider that
   * fails later must not take the whole gateway out of a load balancer.
   */
  async problem(): Promise<string | null> {
    if (!this.isBuilding || (await this.canSearch())) return null
    return 'the search index is being built; the log shows how far it is'
  }
}
