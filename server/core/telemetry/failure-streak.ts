/** Of one caller's failures, at most this many count: what one caller fails says little about others. */
const MAX_OF_ONE = 4
/** More callers than these are not distinguished. */
const MAX_CALLERS = 64

/** A failure that is the upstream's own. */
export interface UpstreamFault {
  /** Whose call failed. */
  readonly caller: string
  /** It had nothing to do with the call, because the upstream could not be reached. */
  readonly isUnreachable: boolean
}

/** The failures of an upstream since its last success, and whose calls they were. Bounded memory. */
export class FailureStreak {
  private failures = 0
  private first: number | null = null
  private unreachable = 0
  /** Failures, of each caller at most `MAX_OF_ONE`. */
  private counted = 0
  private readonly byCaller = new Map<string, number>()

  get count(): number {
    return this.failures
  }

  /** When the first of them happened; null if there is none. */
  get since(): number | null {
    return this.first
  }

  get isUnreachable(): boolean {
    return this.unreachable > 0
  }

  has(caller: string): boolean {
    return this.byCaller.has(caller)
  }

  /** Whether the upstream itself is unwell: that many calls of at least two callers failed, or as many could not reach it. */
  isUpstreams(failures: number): boolean {
    return (this.byCaller.size > 1 && this.counted >= failures) || this.unreachable >= failures
  }

  failed({ caller, isUnreachable }: UpstreamFault, now: number): void {
    this.failures++
    this.first ??= now
    if (isUnreachable) this.unreachable++
    const own = this.byCaller.get(caller) ?? 0
    if (own >= MAX_OF_ONE || (own === 0 && this.byCaller.size >= MAX_CALLERS)) return
    this.byCaller.set(caller, own + 1)
    this.counted++
  }

  succeeded(): void {
    if (this.failures === 0) return
    this.failures = 0
    this.first = null
    this.unreachable = 0
    this.counted = 0
    this.byCaller.clear()
  }
}
