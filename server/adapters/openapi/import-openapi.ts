import { readFile } from 'node:fs/promises'
import type { ImportDocument, ImportOptions } from '../../core/apis/catalog/imported'
import { MAX_DOCUMENT_BYTES } from '../../core/apis/document-size'
import type { OutboundFetch } from '../../core/outbound/outbound-fetch'
import { err, ok, type Result } from '../../core/result'
import type { LoadExternal } from './documents'
import type { FromImporter, ImportResult, ToImporter } from './import-messages'

const FETCH_TIMEOUT_MS = 10_000
const MAX_FETCHED_BYTES = 50 * 1024 * 1024
const LOOK_MS = 25

export interface ImportLimits {
  readonly timeoutMs: number
  readonly maxMemoryBytes: number
}

const LIMITS: ImportLimits = { timeoutMs: 30_000, maxMemoryBytes: 1024 * 1024 * 1024 }

/**
 * Imports an OpenAPI document, in a child process with limits: a small document can be made to take seconds. Only this process fetches
 * other documents.
 */
export const importOpenApi: ImportDocument = (text, options) => importWithin(LIMITS, text, options)

/** `importOpenApi` with other limits. */
export async function importWithin(limits: ImportLimits, text: string, options: ImportOptions): Promise<ImportResult> {
  const { fetchExternal, ...plain } = options
  const bytes = Buffer.byteLength(text)
  if (bytes > MAX_DOCUMENT_BYTES) {
    return err({ message: `The document is larger than ${MAX_DOCUMENT_BYTES / 1e6} MB.` })
  }
  const load = fetchExternal ? loader(fetchExternal) : null
  return new ImportProcess(limits, load).run(text, { kind: 'import', options: plain, fetches: load !== null })
}

/** Fetches other documents, up to a size in all. */
function loader(fetch: OutboundFetch): LoadExternal {
  let left = MAX_FETCHED_BYTES
  return async (url) => {
    const { origin } = new URL(url)
    const answer = await fetch({
      url,
      timeoutMs: FETCH_TIMEOUT_MS,
      maxBytes: Math.min(left, MAX_DOCUMENT_BYTES),
      maxRedirects: 3,
      mayVisit: (next) => next.origin === origin,
    })
    if (!answer.ok) return err(`could not be fetched (${answer.error.kind})`)
    if (answer.value.status !== 200) return err(`could not be fetched (status ${answer.value.status})`)
    left -= answer.value.body.byteLength
    return left > 0 ? ok(new TextDecoder().decode(answer.value.body)) : err('is too large together with the others')
  }
}

/** One import in a process of its own, which is ended when it is done, or takes more than its limits. */
class ImportProcess {
  private readonly limits: ImportLimits
  private readonly load: LoadExternal | null
  private readonly began = performance.now()
  private readonly result = Promise.withResolvers<ImportResult>()

  constructor(limits: ImportLimits, load: LoadExternal | null) {
    this.limits = limits
    this.load = load
  }

  async run(text: string, message: ToImporter): Promise<ImportResult> {
    const child = Bun.spawn([process.execPath, '--smol', new URL('./import-process.ts', import.meta.url).pathname], {
      stdio: [Buffer.from(text), 'ignore', 'ignore'],
      // It needs no secret, and finds no `.env` file.
      env: {},
      cwd: '/',
      serialization: 'advanced',
      ipc: (message: FromImporter) => void this.received(child, message),
      onExit: () => this.giveUp('could not be read: it crashed the importer'),
    })
    const look = setInterval(() => void this.look(child), LOOK_MS)
    try {
      child.send(message)
      return await this.result.promise
    } finally {
      clearInterval(look)
      child.kill('SIGKILL')
    }
  }

  private async received(child: Bun.Subprocess, message: FromImporter): Promise<void> {
    if (message.kind === 'done') {
      // The process waits to be ended, so its peak can still be read: it may be done before the first look.
      await this.look(child)
      this.result.resolve(JSON.parse(message.json))
      return
    }
    const { url } = message
    void (this.load?.(url) ?? Promise.resolve(err('is not fetched here')))
      .catch((error: unknown): Result<string, string> => err(`could not be fetched (${String(error)})`))
      .then((text) => {
        if (child.exitCode === null && !child.killed) child.send({ kind: 'fetched', url, text } satisfies ToImporter)
      })
  }

  /** Gives up if the process has exceeded a limit so far. */
  private async look(child: Bun.Subprocess): Promise<void> {
    const { timeoutMs, maxMemoryBytes } = this.limits
    if (performance.now() - this.began >= timeoutMs) this.giveUp(`takes longer than ${timeoutMs / 1000} s to read`)
    if ((await memoryOf(child.pid)) > maxMemoryBytes)
      this.giveUp(`takes more than ${maxMemoryBytes / 1024 / 1024} MB of memory to read: choose a smaller document`)
  }

  private giveUp(problem: string): void {
    this.result.resolve(err({ message: `The document ${problem}.` }))
  }
}

/** The most memory that a process has held; 0 when it ended, or where the system does not tell. */
async function memoryOf(pid: number): Promise<number> {
  if (process.platform !== 'linux') return 0
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return Number(/^VmHWM:\s*(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024
}
