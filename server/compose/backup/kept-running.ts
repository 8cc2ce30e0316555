import { reasonOf } from '../../core/result'
import type { Running } from './litestream'

const PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 30_000

/** A program that begins anew whenever it ends, after a pause that grows while it does not last. */
export class KeptRunning {
  private readonly begin: () => Promise<Running>
  private readonly onEnd: (reason: string, pauseMs: number) => void
  private readonly stopped = Promise.withResolvers<void>()
  private readonly done: Promise<void>
  private running: Running | null = null
  private isStopped = false

  constructor(parts: { begin: () => Promise<Running>; onEnd: (reason: string, pauseMs: number) => void }) {
    this.begin = parts.begin
    this.onEnd = parts.onEnd
    this.done = this.run()
  }

  get isRunning(): boolean {
    return this.running !== null
  }

  /** Resolves when it has ended, to whether it ran until now and ended well. */
  async stop(): Promise<boolean> {
    this.isStopped = true
    this.stopped.resolve()
    const endedWell = await this.running?.stop()
    await this.done
    return endedWell ?? false
  }

  private async run(): Promise<void> {
    for (let pauseMs = PAUSE_MS; !this.isStopped; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      const begun = performance.now()
      const reason = await this.once().catch(reasonOf)
      if (this.isStopped) return
      if (performance.now() - begun > LONGEST_PAUSE_MS) pauseMs = PAUSE_MS
      this.onEnd(reason, pauseMs)
      await Promise.race([Bun.sleep(pauseMs), this.stopped.promise])
    }
  }

  private async once(): Promise<string> {
    const running = await this.begin()
    this.running = running
    // It was stopped before there was something to stop.
    if (this.isStopped) await running.stop()
    const reason = await running.ended
    if (!this.isStopped) this.running = null
    return reason
  }
}
