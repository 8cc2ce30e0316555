import { type EnsureIndexOptions, ensureIndex } from '../../adapters/websearch/local/build/ensure-index'
import { IndexReader } from '../../adapters/websearch/local/index-reader'
import type { Config } from '../../config'
import { indexSources } from './index-sources'

/** The search index at the start, and whether searches can be answered meanwhile. */
export class SearchIndex {
  private readonly sources: ReturnType<typeof indexSources>
  private readonly canSearch: () => Promise<boolean>
  private isBuilding: boolean

  /** `canSearch` says whether any provider of searches can respond. `isAwaited`: it counts as being built until `prepare` has ended. */
  constructor(sources: ReturnType<typeof indexSources>, canSearch: () => Promise<boolean>, isAwaited = false) {
    this.sources = sources
    this.canSearch = canSearch
    this.isBuilding = isAwaited
  }

  /** Builds the index if it is missing or outdated, on a thread of its own, while the server serves. `ensure` is for tests. */
  async prepare(
    onProgress: (done: number, total: number) => void,
    ensure: (options: EnsureIndexOptions) => Promise<unknown> = ensureIndex,
  ): Promise<void> {
    this.isBuilding = true
    await ensure({ ...this.sources, onProgress: ({ done, total }) => onProgress(done, total) })
    this.isBuilding = false
  }

  /**
   * Why searches cannot be answered yet, for `/ready`; null if they can. Once the index is built it is always null: a provider that
   * fails later must not take the whole gateway out of a load balancer. A gateway asks its own providers.
   */
  async problem(canSearch = this.canSearch): Promise<string | null> {
    if (!this.isBuilding || (await canSearch())) return null
    return 'the search index is being built; the log shows how far it is'
  }
}

/** The index that all gateways of a node share. A node without a gateway answers searches by it as soon as it owns a cell. */
export function indexOfNode({ dataDir, websearch }: Pick<Config, 'dataDir' | 'websearch'>): SearchIndex {
  const sources = indexSources(dataDir)
  let isUsable = websearch.order.some((name) => name !== 'local')
  const canSearch = async () => {
    isUsable ||= await isReadable(sources.indexPath)
    return isUsable
  }
  return new SearchIndex(sources, canSearch, true)
}

/** Whether searches can be answered from the file, perhaps of an older version. */
async function isReadable(indexPath: string): Promise<boolean> {
  const reader = new IndexReader(indexPath)
  try {
    return (await reader.answer({ kind: 'ready' })).ok
  } catch {
    return false
  } finally {
    reader.close()
  }
}
