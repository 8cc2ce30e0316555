import { randomBytes } from 'node:crypto'
import { MINUTE_MS, SECOND_MS } from '../../core/clock'
import { reasonOf } from '../../core/result'
import { credentialLine } from './parent'
import type { Warn } from './served-worker'

const FIRST_PAUSE_MS = SECOND_MS
const MAX_PAUSE_MS = MINUTE_MS
/** For a process that was told to end by a signal that it cannot ignore. */
const KILLED_MS = 5 * SECOND_MS

interface ChildrenParts {
  readonly count: number
  /** Starts a worker, without anything secret: its command line is for all to read. */
  readonly command: readonly string[]
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Where the primary listens for them. */
  readonly socket: string
  /** The process with this instance is dead: settles its calls. Never rejects. */
  readonly onGone: (instance: string) => Promise<void>
  readonly warn: Warn
  /** For tests. */
  readonly firstPauseMs?: number
}

/** A worker's process. Each start has a key and an instance of its own. */
interface Child {
  readonly process: Bun.Subprocess<'pipe', 'inherit', 'inherit'>
  readonly key: Uint8Array
  readonly instance: string
  readonly since: number
  /** Resolves once it has ended, and its calls are settled. */
  readonly gone: PromiseWithResolvers<void>
}

/**
 * The workers that a primary starts on its own machine: `local-1` to `local-N`. One that dies is started again after 1, 2, 4 ... 60 s. Each has its
 * credential from its standard input, which stays open as long as the primary lives: its end tells a worker to finish and exit, however the primary ended.
 */
export class Children {
  private readonly parts: ChildrenParts
  private readonly children = new Map<string, Child>()
  private readonly pauses = new Map<string, { ms: number; timer: ReturnType<typeof setTimeout> | null }>()
  private isStopping = false

  constructor(parts: ChildrenParts) {
    this.parts = parts
  }

  start(): void {
    for (let i = 1; i <= this.parts.count; i++) this.spawn(`local-${i}`)
  }

  /** The key of a worker that runs; null for any other name. */
  keyOf(name: string): Uint8Array | null {
    return this.children.get(name)?.key ?? null
  }

  /** Kills a worker that does not answer: the kernel would go on giving it connections. It is started again. */
  kill(instance: string): void {
    for (const [name, child] of this.children) {
      if (child.instance !== instance) continue
      this.parts.warn(`worker ${name} does not answer and is killed`, { pid: child.process.pid })
      child.process.kill('SIGKILL')
    }
  }

  /** Tells all to finish, and waits until they have ended and are settled. Kills those that have not after `maxMs`. */
  async stop(maxMs: number): Promise<void> {
    this.isStopping = true
    for (const { timer } of this.pauses.values()) if (timer) clearTimeout(timer)
    const running = [...this.children]
    const gone = Promise.all(running.map(([, child]) => child.gone.promise))
    for (const [, { process }] of running) await Promise.resolve(process.stdin.end()).catch(() => undefined)
    await Promise.race([gone, Bun.sleep(maxMs)])
    for (const [name, { process }] of this.children) {
      this.parts.warn(`worker ${name} did not finish in time and is killed`, { pid: process.pid })
      process.kill('SIGKILL')
    }
    await Promise.race([gone, Bun.sleep(KILLED_MS)])
  }

  private spawn(name: string): void {
    const { command, environment, socket } = this.parts
    const [key, instance] = [randomBytes(32), randomBytes(16).toString('hex')]
    const since = performance.now()
    try {
      const process = Bun.spawn([...command], {
        env: { ...environment },
        stdio: ['pipe', 'inherit', 'inherit'],
        onExit: (_process, code, signal) => void this.died(name, child, signal ?? `code ${code}`),
      })
      const child: Child = { process, key, instance, since, gone: Promise.withResolvers() }
      this.children.set(name, child)
      void give(process.stdin, credentialLine({ name, key, instance, socket }))
    } catch (error) {
      this.again(name, since, reasonOf(error))
    }
  }

  private async died(name: string, { instance, since, gone }: Child, by: string | number): Promise<void> {
    // Its key is of no use from here on, so no connection of it is let in after `onGone`.
    if (this.children.get(name)?.instance === instance) this.children.delete(name)
    if (!this.isStopping) this.again(name, since, `it ended by ${by}`)
    await this.parts.onGone(instance)
    gone.resolve()
  }

  private again(name: string, since: number, reason: string): void {
    const { firstPauseMs = FIRST_PAUSE_MS, warn } = this.parts
    const last = this.pauses.get(name)
    const wasStable = performance.now() - since > MAX_PAUSE_MS
    const ms = last && !wasStable ? Math.min(2 * last.ms, MAX_PAUSE_MS) : firstPauseMs
    warn(`worker ${name} is gone and starts again`, { reason, inSeconds: ms / SECOND_MS })
    this.pauses.set(name, { ms, timer: setTimeout(() => this.spawn(name), ms) })
  }
}

/** To a process that has ended by now nothing can be given; its end is noticed by itself. */
async function give(stdin: Bun.FileSink, line: string): Promise<void> {
  try {
    await stdin.write(line)
    await stdin.flush()
  } catch {}
}
