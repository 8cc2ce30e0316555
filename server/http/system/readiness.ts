import type { ModelBackend } from '../../pipeline/models/model-backend'

interface ReadinessParts {
  /** The gateway's own parts that must work before calls can be served. */
  readonly checks: Readonly<Record<string, () => Promise<boolean>>>
  /** The search providers and whether each is available. They do not affect readiness, because others can take over. */
  readonly sources: () => Promise<Readonly<Record<string, boolean>>>
  readonly upstreams: ModelBackend['states']
  readonly isDraining: () => boolean
}

/** Whether this process can serve calls and, for operators, why not. */
export class Readiness {
  private readonly parts: ReadinessParts

  constructor(parts: ReadinessParts) {
    this.parts = parts
  }

  /** The public status. */
  async status(): Promise<'ready' | 'not_ready' | 'draining'> {
    if (this.parts.isDraining()) return 'draining'
    return Object.values(await this.checks()).every(Boolean) ? 'ready' : 'not_ready'
  }

  /** For operators only, because it names upstreams. */
  async details() {
    const { sources, upstreams } = this.parts
    const models = upstreams([]).map(({ name, breaker, underWay }) => ({ name, breaker, under_way: underWay }))
    return { checks: await this.checks(), sources: await sources(), models }
  }

  private async checks(): Promise<Readonly<Record<string, boolean>>> {
    const entries = Object.entries(this.parts.checks)
    return Object.fromEntries(await Promise.all(entries.map(async ([name, check]) => [name, await check()] as const)))
  }
}
