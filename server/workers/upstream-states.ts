import type { UpstreamState } from '../pipeline/models/model-backend'

const WORSE = ['closed', 'probing', 'open'] as const

/** The upstreams of models as all workers see them: each has its own connections and breakers. */
export class UpstreamStates {
  private readonly byWorker = new Map<string, readonly UpstreamState[]>()

  /** What a worker said last; nothing, once it is gone. */
  set(worker: string, states: readonly UpstreamState[]): void {
    this.byWorker.set(worker, states)
  }

  /** The states of this process, and those of its workers: of each upstream the worst breaker, and all calls. */
  with(own: readonly UpstreamState[]): readonly UpstreamState[] {
    if (this.byWorker.size === 0) return own
    const all = new Map(own.map((state) => [state.name, state]))
    for (const state of [...this.byWorker.values()].flat()) {
      const known = all.get(state.name)
      all.set(state.name, known ? both(known, state) : state)
    }
    return [...all.values()]
  }
}

function both(one: UpstreamState, other: UpstreamState): UpstreamState {
  const worse = WORSE.indexOf(other.breaker) > WORSE.indexOf(one.breaker) ? other : one
  const since = [one.failingSince, other.failingSince].filter((at) => at !== null)
  return {
    ...worse,
    underWay: one.underWay + other.underWay,
    failures: Math.max(one.failures, other.failures),
    failingSince: since.length === 0 ? null : Math.min(...since),
    models: [...new Set([...one.models, ...other.models])],
  }
}
