import { readFile } from 'node:fs/promises'
import {
  type FromReader,
  type OwnContent,
  type RawFile,
  type SourceSettings,
  type ToReader,
  Unreadable,
} from './own-content'

interface FileReaderLimits {
  /** The time limit per file. */
  readonly timeoutMs: number
  /** The memory limit of the process while it reads a file. */
  readonly maxMemoryBytes: number
}

const LIMITS: FileReaderLimits = { timeoutMs: 20_000, maxMemoryBytes: 1024 * 1024 * 1024 }
const LOOK_MS = 25
const PAGE_BYTES = 4096

/**
 * Reads files in a child process, one at a time. A file that crashes or hangs a parser costs no more than the limits, and the next
 * file gets a new process.
 */
export class FileReader {
  private readonly limits: FileReaderLimits
  private readonly script: string
  private child: Bun.Subprocess | null = null
  private settle: ((answer: FromReader) => void) | null = null

  constructor(
    limits: Partial<FileReaderLimits> = {},
    script = new URL('./read-file-process.ts', import.meta.url).pathname,
  ) {
    this.limits = { ...LIMITS, ...limits }
    this.script = script
  }

  /** The content of a file for the index. Throws `Unreadable` if it has none, cannot be read, or exceeds the limits. */
  async read(file: RawFile, settings: SourceSettings): Promise<OwnContent> {
    if (this.settle) throw new Error('a file reader reads one file at a time')
    const child = this.child ?? this.start()
    const answer = Promise.withResolvers<FromReader>()
    this.settle = answer.resolve
    const stop = this.watch(child)
    try {
      child.send({ file, settings } satisfies ToReader)
      const reply = await answer.promise
      if ('problem' in reply) throw new Unreadable(reply.problem)
      return reply.content
    } finally {
      stop()
      this.settle = null
    }
  }

  /** Ends the process. May be called repeatedly. */
  close(): void {
    this.child?.kill('SIGKILL')
    this.child = null
  }

  private start(): Bun.Subprocess {
    const child: Bun.Subprocess = Bun.spawn([process.execPath, this.script], {
      stdio: ['ignore', 'ignore', 'ignore'],
      serialization: 'advanced',
      ipc: (message: FromReader) => this.answer(child, message),
      onExit: () => this.answer(child, { problem: 'it crashed the file reader' }),
    })
    this.child = child
    return child
  }

  /** Ignores messages of a process that was ended or replaced. */
  private answer(child: Bun.Subprocess, message: FromReader): void {
    if (this.child !== child) return
    if (child.exitCode !== null || child.signalCode !== null) this.child = null
    this.settle?.(message)
  }

  private watch(child: Bun.Subprocess): () => void {
    const { timeoutMs, maxMemoryBytes } = this.limits
    const giveUp = (problem: string) => {
      if (this.child !== child) return
      this.close()
      this.settle?.({ problem })
    }
    const deadline = setTimeout(() => giveUp(`it took longer than ${timeoutMs / 1000} s to read`), timeoutMs)
    const look = setInterval(() => {
      void memoryOf(child.pid).then((bytes) => {
        if (bytes > maxMemoryBytes) giveUp(`it took more than ${maxMemoryBytes / 1024 / 1024} MiB of memory to read`)
      })
    }, LOOK_MS)
    return () => {
      clearTimeout(deadline)
      clearInterval(look)
    }
  }
}

/** Resident memory of a process; 0 if it has exited. Uses `ps` where there is no /proc. */
async function memoryOf(pid: number): Promise<number> {
  if (process.platform === 'linux') {
    const pages = (await readFile(`/proc/${pid}/statm`, 'utf8').catch(() => '')).split(' ')[1]
    return Number(pages ?? 0) * PAGE_BYTES
  }
  if (process.platform === 'win32') return 0
  const ps = Bun.spawn(['ps', '-o', 'rss=', '-p', String(pid)], { stdio: ['ignore', 'pipe', 'ignore'] })
  return Number((await new Response(ps.stdout).text()).trim()) * 1024
}
