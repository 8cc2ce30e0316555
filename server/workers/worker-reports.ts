import type { UpstreamState } from '../pipeline/models/model-backend'

/** What a worker says of itself each second. */
export interface WorkerReport {
  readonly upstreams: readonly UpstreamState[]
  /** Its search sources, and whether each is available. */
  readonly sources: Readonly<Record<string, boolean>>
  readonly version: string
  /** Its process, on its machine. */
  readonly pid: number
  /** Of one core, since its last report. */
  readonly cpuPercent: number
}

const WORSE = ['closed', 'probing', 'open'] as const

/** What all workers said last. Each has its own connections and breakers. */
export class WorkerReports {
  private readonly byInstance = new Map<string, WorkerReport>()

  /** Null: the worker is gone. */
  set(instance: string, report: WorkerReport | null): void {
    if (report) this.byInstance.set(instance, report)
    else this.byInstance.delete(instance)
  }

  of(instance: string): WorkerReport | null {
    return this.byInstance.get(instance) ?? null
  }

  /** The upstreams of models: those of this process, and those of its workers, of each the worst breaker, and all calls. */
  upstreams(own: readonly UpstreamState[]): readonly UpstreamState[] {
    if (this.byInstance.size === 0) return own
    const all = new Map(own.map((state) => [state.name, state]))
    for (const state of [...this.byInstance.values()].flatMap(({ upstreams }) => upstreams)) {
      const known = all.get(state.name)
      all.set(state.name, known ? both(known, state) : state)
    }
    return [...all.values()]
  }

  /** The search sources: one is available if it is for all. */
  sources(own: Readonly<Record<string, boolean>>): Readonly<Record<string, boolean>> {
    const all = { ...own }
    for (const { sources } of this.byInstance.values())
      for (const [name, isAvailable] of Object.entries(sources)) all[name] = isAvailable && all[name] !== false
    return all
  }
}

function newer(
  { lastRefusal: one }: UpstreamState,
  { lastRefusal: other }: UpstreamState,
): Pick<UpstreamState, 'lastRefusal'> {
  const lastRefusal = one && other && other.at < one.at ? one : (other ?? one)
  return lastRefusal ? { lastRefusal } : {}
}

function both(one: UpstreamState, other: UpstreamState): UpstreamState {
  const worse = WORSE.indexOf(other.breaker) > WORSE.indexOf(one.breaker) ? other : one
  const since = [one.failingSince, other.failingSince].filter((at) => at !== null)
  return {
    ...worse,
    underWay: one.underWay + other.underWay,
    ...newer(one, other),
    failures: Math.max(one.failures, other.failures),
    failingSince: since.length === 0 ? null : Math.min(...since),
    models: [...new Set([...one.models, ...other.models])],
  }
}
