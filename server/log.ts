import type { LogLevel } from './config'
import { printable } from './core/plain-text'

const ORDER: readonly LogLevel[] = ['debug', 'info', 'warn', 'error']
/** Within this time a line of trouble is written once, then counted. */
const REPEAT_MS = 60_000
/** Most different lines that are counted at once; a flood of others is written as it comes. */
const MAX_COUNTED = 1_000

export type Log = Readonly<Record<LogLevel, (message: string, fields?: Readonly<Record<string, unknown>>) => void>>

/** Has what was counted written, before the process ends. */
export type ProcessLog = Log & { flush(): void }

/**
 * One line per event on stderr: time, level, message, fields as JSON, without what would move a terminal. Whoever logs keeps secrets out of the fields. The same
 * trouble again within a minute is counted, and told as one line when the minute is over or the process ends.
 */
export function openLog(
  least: LogLevel,
  write: (line: string) => unknown = (line) => process.stderr.write(line),
  now: () => number = () => Date.now(),
): ProcessLog {
  const line = (level: LogLevel, text: string) => write(`${new Date(now()).toISOString()} ${level} ${text}\n`)
  const repeats = new Repeats(now, (level, text) => line(level, text))
  const at =
    (level: LogLevel) =>
    (message: string, fields: Readonly<Record<string, unknown>> = {}) => {
      if (ORDER.indexOf(level) < ORDER.indexOf(least)) return
      const more = Object.keys(fields).length > 0 ? ` ${JSON.stringify(fields)}` : ''
      const text = printable(message + more)
      if ((level === 'warn' || level === 'error') && repeats.isRepeat(level, text)) return
      line(level, text)
    }
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    flush: () => repeats.flush(Number.POSITIVE_INFINITY),
  }
}

interface Counted {
  readonly level: LogLevel
  readonly text: string
  readonly since: number
  more: number
}

/** Lines that were written a short time ago, and how often each came again since. */
class Repeats {
  private readonly now: () => number
  private readonly tell: (level: LogLevel, text: string) => void
  private readonly counted = new Map<string, Counted>()
  private timer: ReturnType<typeof setTimeout> | null = null

  constructor(now: () => number, tell: (level: LogLevel, text: string) => void) {
    this.now = now
    this.tell = tell
  }

  isRepeat(level: LogLevel, text: string): boolean {
    const now = this.now()
    this.flush(now)
    const key = `${level} ${text}`
    const known = this.counted.get(key)
    if (known) {
      known.more++
      this.watch()
      return true
    }
    if (this.counted.size < MAX_COUNTED) this.counted.set(key, { level, text, since: now, more: 0 })
    return false
  }

  /** Tells of those whose minute is over at `now`. They stand in the order of their begin. */
  flush(now: number): void {
    for (const [key, { level, text, since, more }] of this.counted) {
      // A clock that was set back is behind what it counted, which it would keep silent until then.
      if (now >= since && now - since < REPEAT_MS) return
      this.counted.delete(key)
      if (more > 0) this.tell(level, `${text} repeated ${more} ${more === 1 ? 'time' : 'times'}`)
    }
  }

  private watch(): void {
    if (this.timer) return
    this.timer = setTimeout(() => {
      this.timer = null
      this.flush(this.now())
      if (this.counted.size > 0) this.watch()
    }, REPEAT_MS)
    this.timer.unref()
  }
}
