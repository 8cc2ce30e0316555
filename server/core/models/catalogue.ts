import type { AuditEntry } from '../audit'
import type { Model } from './model'

/** Models that an operator put into the database. A change is durable and audited when it resolves, and then seen by the next call. */
export interface ModelStore {
  all(): readonly Model[]
  /** What the operator wrote; undefined when there is no such model here. */
  entryOf(id: string): unknown
  /** `entry` is what the operator wrote; `model` is what it was judged to mean. */
  put(model: Model, entry: unknown, audit: AuditEntry): Promise<void>
  /** False when there was none. */
  remove(id: string, audit: AuditEntry): Promise<boolean>
}

/** Every model that is sold: the sandbox's and the file's, which never change while we run, and the operator's. */
export class ModelCatalogue {
  private readonly fixed: ReadonlyMap<string, Model>
  private readonly store: Pick<ModelStore, 'all'>

  constructor(fixed: readonly Model[], store: Pick<ModelStore, 'all'>) {
    this.fixed = new Map(fixed.map((model) => [model.id, model]))
    this.store = store
  }

  /** The operator's entry goes before the file's of the same id. */
  byId(id: string): Model | null {
    return this.store.all().find((model) => model.id === id) ?? this.fixed.get(id) ?? null
  }

  list(): Model[] {
    const models = new Map(this.fixed)
    for (const model of this.store.all()) models.set(model.id, model)
    return [...models.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
  }
}
