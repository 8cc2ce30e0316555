import { mkdir } from 'node:fs/promises'
import { openGuardedFetch } from '../adapters/outbound/guarded-fetch'
import { ensureIndex } from '../adapters/websearch/local/build/ensure-index'
import { OwnIndex } from '../adapters/websearch/local/own/own-index'
import { indexSources } from './index-sources'

export interface OwnDocumentsOptions {
  readonly dataDir: string
  /** Whether addresses that are not public may be read: the operator's own, named at the keyboard. */
  readonly allowPrivate: boolean
  /** Whether the documents that every install brings are on sale; as before when absent. */
  readonly builtIn?: boolean
  /** How far the building of the index itself is, when there was none yet. */
  readonly onBuild: (done: number, total: number) => void
}

const USER_AGENT = 'paid-api-gateway/0.1 (index)'

/** The documents an operator adds to the index of an install; the index is built first where it is missing or old. */
export async function openOwnDocuments(options: OwnDocumentsOptions): Promise<OwnIndex> {
  const { dataDir, allowPrivate, onBuild, builtIn } = options
  const sources = { ...indexSources(dataDir), ...(builtIn === undefined ? {} : { builtIn }) }
  await mkdir(dataDir, { recursive: true })
  await ensureIndex({ ...sources, onProgress: ({ done, total }) => onBuild(done, total) })
  const permits = allowPrivate ? { permits: () => true } : {}
  return new OwnIndex({ indexPath: sources.indexPath, fetch: openGuardedFetch({ userAgent: USER_AGENT, ...permits }) })
}
