import { hasBuiltIn, readIndex } from '../index-file'
import { selectRows } from '../query/select-rows'
import { type BuildOptions, type BuildProgress, type IndexSources, indexFingerprint } from './build-index'
import type { IndexCounts } from './index-writer'

export type BuildRequest = IndexSources & BuildOptions
export type BuildAnswer =
  | { readonly progress: BuildProgress }
  /** Null: the index was up to date. */
  | { readonly counts: IndexCounts | null }
  | { readonly problem: string }

export interface EnsureIndexOptions extends BuildRequest {
  readonly onProgress?: (progress: BuildProgress) => void
}

/**
 * Makes sure that `indexPath` has an index of these sources with these options. If not, it builds one on its own thread, so that
 * the process goes on serving, and moves it into place atomically. Returns what was built, or null if the index was up to date.
 * A failed build throws and leaves the old file unchanged.
 */
export async function ensureIndex(options: EnsureIndexOptions): Promise<IndexCounts | null> {
  const { onProgress = () => {}, ...request } = options
  // Without it all sources must be read, which takes seconds: the thread does that, too.
  if (request.fingerprint !== undefined && (await isUpToDate(request))) return null
  return buildInWorker(request, onProgress)
}

/** Whether `indexPath` has an index of these sources with these options. Blocks for seconds where the fingerprint is not known in advance. */
export async function isUpToDate(request: BuildRequest): Promise<boolean> {
  const { indexPath, builtIn } = request
  const isWished = builtIn === undefined || builtIn === (await hasBuiltIn(indexPath))
  const stored = isWished ? await storedFingerprint(indexPath) : null
  return stored !== null && stored === (await indexFingerprint(request))
}

/** The fingerprint in an index file; null if there is no file, or it is not an index. */
export async function storedFingerprint(indexPath: string): Promise<string | null> {
  return readIndex(indexPath, async (client) => {
    const sql = "SELECT value FROM meta WHERE key = 'fingerprint'"
    const [row] = await selectRows<{ readonly value: string }>(client, sql, [])
    return row?.value ?? null
  })
}

function buildInWorker(
  request: BuildRequest,
  onProgress: (progress: BuildProgress) => void,
): Promise<IndexCounts | null> {
  const worker = new Worker(new URL('./build-worker.ts', import.meta.url))
  return new Promise<IndexCounts | null>((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<BuildAnswer>) => {
      if ('progress' in data) onProgress(data.progress)
      else if ('counts' in data) resolve(data.counts)
      else reject(new Error(`the search index could not be built: ${data.problem}`))
    }
    worker.onerror = (event) => {
      event.preventDefault()
      reject(new Error(`the search index could not be built: ${event.message}`))
    }
    worker.addEventListener('close', () => reject(new Error('the search index could not be built: the thread ended')))
    worker.postMessage(request)
  }).finally(() => worker.terminate())
}
