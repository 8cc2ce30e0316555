import { mkdir } from 'node:fs/promises'
import { openGuardedFetch } from '../../adapters/outbound/guarded-fetch'
import { ensureIndex } from '../../adapters/websearch/local/build/ensure-index'
import { OwnIndex } from '../../adapters/websearch/local/own/own-index'
import { PRODUCT } from '../../core/version'
import { indexSources } from './index-sources'

export interface OwnDocumentsOptions {
  readonly dataDir: string
  /** Whether to allow URLs that are not public. Safe here, because the operator types them. */
  readonly allowPrivate: boolean
  /** Whether the index includes the built-in documents. Unchanged if absent. */
  readonly builtIn?: boolean
  /** Progress of building the index, if it does not exist yet. */
  readonly onBuild: (done: number, total: number) => void
}

const USER_AGENT = `${PRODUCT} (index)`

/** Opens the operator's own documents in the search index. Builds the index first if it is missing or outdated. */
export async function openOwnDocuments(options: OwnDocumentsOptions): Promise<OwnIndex> {
  const { dataDir, allowPrivate, onBuild, builtIn } = options
  const sources = { ...indexSources(dataDir), ...(builtIn === undefined ? {} : { builtIn }) }
  await mkdir(dataDir, { recursive: true })
  await ensureIndex({ ...sources, onProgress: ({ done, total }) => onBuild(done, total) })
  const permits = allowPrivate ? { permits: () => true } : {}
  return new OwnIndex({ indexPath: sources.indexPath, fetch: openGuardedFetch({ userAgent: USER_AGENT, ...permits }) })
}
