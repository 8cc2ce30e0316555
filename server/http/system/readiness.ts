import { inTime } from '../../core/in-time'
import { reasonOf } from '../../core/result'
import type { ModelBackend } from '../../pipeline/models/model-backend'

/** Longer means that the part does not respond. Load balancers give up after about five seconds. */
const MAX_CHECK_MS = 2_000

interface ReadinessParts {
  /** The gateway's own parts that must work before calls can be served. Each says what is wrong with it, or null. */
  readonly checks: Readonly<Record<string, () => Promise<string | null>>>
  /** The search providers and whether each is available. They do not affect readiness, because others can take over. */
  readonly sources: () => Promise<Readonly<Record<string, boolean>>>
  /** Warnings for the operator that do not stop calls. */
  readonly warnings?: Readonly<Record<string, () => Promise<string | null>>>
  readonly upstreams: ModelBackend['states']
  readonly isDraining: () => boolean
  /** For tests. */
  readonly maxCheckMs?: number
}

/** The state of a gateway, as everybody may read it. `code` says which part fails, such as `charges_unavailable`. */
export interface PublicReadiness {
  readonly status: 'ready' | 'not_ready' | 'draining'
  readonly code?: string
}

/** The state with the reason of each part that fails, for operators only. */
export interface OperatorReadiness extends PublicReadiness {
  readonly problems: Readonly<Record<string, string>>
}

/** Whether this process can serve calls and, for operators, why not. */
export class Readiness {
  private readonly parts: ReadinessParts

  constructor(parts: ReadinessParts) {
    this.parts = parts
  }

  /** The public state. */
  async status(): Promise<PublicReadiness> {
    return this.statusOf(await this.problems())
  }

  async state(): Promise<OperatorReadiness> {
    const problems = await this.problems()
    return { ...this.statusOf(problems), problems }
  }

  /** For operators only, because it names upstreams and says what is wrong. */
  async details() {
    const { checks, sources, upstreams, warnings = {} } = this.parts
    const models = upstreams([]).map(({ name, breaker, underWay }) => ({ name, breaker, under_way: underWay }))
    const state = await this.state()
    const works = Object.fromEntries(Object.keys(checks).map((name) => [name, !(name in state.problems)]))
    return { ...state, checks: works, sources: await sources(), models, warnings: await this.failing(warnings) }
  }

  /** The reason of each part that fails. */
  private problems(): Promise<Readonly<Record<string, string>>> {
    return this.failing(this.parts.checks)
  }

  private async failing(checks: ReadinessParts['checks']): Promise<Readonly<Record<string, string>>> {
    const { maxCheckMs = MAX_CHECK_MS } = this.parts
    const checked = Object.entries(checks).map(
      async ([name, check]) => [name, await problemOf(check, maxCheckMs)] as const,
    )
    return Object.fromEntries(
      (await Promise.all(checked)).flatMap(([name, why]) => (why === null ? [] : [[name, why]])),
    )
  }

  private statusOf(problems: Readonly<Record<string, string>>): PublicReadiness {
    if (this.parts.isDraining()) return { status: 'draining' }
    const [failing] = Object.keys(problems)
    return failing === undefined ? { status: 'ready' } : { status: 'not_ready', code: `${failing}_unavailable` }
  }
}

/** A check that fails or hangs is a failed check: the answer must come also when nothing behind it does. */
async function problemOf(check: () => Promise<string | null>, maxMs: number): Promise<string | null> {
  try {
    return await inTime(check(), maxMs, () => new Error(`it did not respond within ${maxMs} ms`))
  } catch (error) {
    return reasonOf(error)
  }
}
