import { MAX_BATCH_PARTS } from '../../../../server/core/batch.ts'
import { workspaceHeader } from '../../session-state.ts'

/** How long reads are collected: an eighth of what the last one took, for parts of a page that are drawn one after the other. */
const MIN_WAIT_MS = 4
const MAX_WAIT_MS = 80
/** With the live events, half of what a browser opens to one server. Later reads are sent together when one is done. */
const MAX_OPEN = 2
const ALONE = /^\/api\/operator\//

export interface BatchAnswer {
  readonly status: number
  readonly value: unknown
}

interface Waiting {
  /** The path below `/api/`, with its query. */
  readonly path: string
  readonly resolve: (answer: BatchAnswer) => void
  readonly reject: (error: unknown) => void
}

const waiting: Waiting[] = []
let open = 0
let isDue = false
let latencyMs = 0

/** Reads a resource. Reads that begin together are sent as one request: a page asks for a dozen, and each costs the whole latency. */
export function read(url: string): Promise<BatchAnswer> {
  if (ALONE.test(url)) return readAlone(url)
  return new Promise((resolve, reject) => {
    waiting.push({ path: url.slice('/api/'.length), resolve, reject })
    if (isDue) return
    isDue = true
    setTimeout(flush, Math.min(MAX_WAIT_MS, Math.max(MIN_WAIT_MS, latencyMs / 8)))
  })
}

function flush(): void {
  isDue = false
  while (waiting.length > 0 && open < MAX_OPEN) void send(waiting.splice(0, MAX_BATCH_PARTS))
}

async function send(parts: readonly Waiting[]): Promise<void> {
  open++
  try {
    const answers = await answersTo(parts.map(({ path }) => path))
    for (const [at, { resolve, reject }] of parts.entries()) {
      const answer = answers[at]
      if (answer) resolve(answer)
      else reject(new Error('the batch has no answer to this part'))
    }
  } catch (error) {
    for (const { reject } of parts) reject(error)
  } finally {
    open--
    flush()
  }
}

async function answersTo(paths: readonly string[]): Promise<readonly BatchAnswer[]> {
  const [first = ''] = paths
  if (paths.length === 1) return [await readAlone(`/api/${first}`)]
  const batch = await readAlone(`/api/batch?${new URLSearchParams(paths.map((path) => ['get', path]))}`)
  // Refused as a whole, as by a server that is ending: each part fails with it.
  if (batch.status !== 200) return paths.map(() => batch)
  const parts: unknown = Reflect.get(Object(batch.value), 'parts')
  if (!Array.isArray(parts)) return []
  const answers = parts.map((part): BatchAnswer => ({ status: Number(part.status), value: part.body }))
  // A batch is bounded, and its last parts may be too large for it.
  return Promise.all(answers.map((answer, at) => (answer.status === 413 ? readAlone(`/api/${paths[at]}`) : answer)))
}

async function readAlone(url: string): Promise<BatchAnswer> {
  const begun = performance.now()
  const response = await fetch(url, { headers: workspaceHeader() })
  latencyMs = performance.now() - begun
  return parsedResponse(response)
}

/** The status and the body of a response. */
export async function parsedResponse(response: Response): Promise<BatchAnswer> {
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
  return { status: response.status, value: isJson ? await response.json() : await response.text() }
}
