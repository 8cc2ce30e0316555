import type { Connection } from './worker/worker-connection'

/** How long the database may be silent before it is asked over another connection. */
const SLOW_MS = 5_000
/** How long it may answer neither way. As long as a caller waits for the commit of its charge. */
const SILENT_MS = 10_000
/** How long one connection may be silent for writes while the database answers another one: it is broken without an error. */
const WRITE_MS = 15_000
const LOOK_MS = 500

type Line = Pick<Connection, 'silentSince' | 'heard'>

interface SilenceParts {
  readonly writer: Line
  readonly readers: readonly Line[]
  /** Asks the database over another connection, for at most so long: null if it answers. */
  readonly ask: (maxMs: number) => Promise<string | null>
  /** Called once, with what happened. */
  readonly onSilent: (reason: string) => void
  /** Monotonic. */
  readonly now: () => number
}

/** Notices that a database server accepts what it is sent and answers nothing any more, or cannot be reached. A slow query is no silence. */
export class SilenceWatch {
  private readonly parts: SilenceParts
  /** When the database last answered over another connection. */
  private heardAt = Number.NEGATIVE_INFINITY
  private isAsking = false
  private timer: ReturnType<typeof setInterval> | null = null

  constructor(parts: SilenceParts) {
    this.parts = parts
  }

  start(): void {
    this.timer = setInterval(() => this.look(), LOOK_MS)
  }

  stop(): void {
    if (this.timer) clearInterval(this.timer)
    this.timer = null
  }

  /** Looks how long the database has been silent. */
  look(): void {
    const { writer, readers, now } = this.parts
    const since = Math.min(...[writer, ...readers].map(({ silentSince }) => silentSince ?? Number.POSITIVE_INFINITY))
    const writesMs = now() - (writer.silentSince ?? Number.POSITIVE_INFINITY)
    const silentMs = now() - Math.max(since, this.heardAt)
    if (silentMs >= SILENT_MS || writesMs >= WRITE_MS) this.end(Math.max(silentMs, writesMs))
    else if (silentMs >= SLOW_MS && !this.isAsking) void this.ask(SILENT_MS - silentMs)
  }

  private async ask(maxMs: number): Promise<void> {
    const { writer, readers, now } = this.parts
    this.isAsking = true
    const problem = await this.parts.ask(maxMs)
    this.isAsking = false
    if (problem !== null) return
    this.heardAt = now()
    for (const line of [writer, ...readers]) line.heard()
  }

  private end(ms: number): void {
    if (this.timer === null) return
    this.stop()
    this.parts.onSilent(`the database did not answer for ${Math.round(ms / 1000)} s`)
  }
}
