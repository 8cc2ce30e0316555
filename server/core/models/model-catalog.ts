import type { AuditEntry } from '../audit'
import type { Model } from './model'

/** Models that an operator added to the database. When a change resolves, it is durable, in the audit log, and visible to the next call. */
export interface ModelStore {
  all(): readonly Model[]
  /** The entry as the operator wrote it; undefined when the model is not in the database. */
  entryOf(id: string): unknown
  /** `entry` is what the operator wrote; `model` is its parsed form. */
  put(model: Model, entry: unknown, audit: AuditEntry): Promise<void>
  /** Returns false when there is no such model. */
  remove(id: string, audit: AuditEntry): Promise<boolean>
}

/** All available models: those of the sandbox and of MODELS_FILE, which are fixed at startup, and those of the database. */
export class ModelCatalog {
  private readonly fixed: ReadonlyMap<string, Model>
  private readonly store: Pick<ModelStore, 'all'>

  constructor(fixed: readonly Model[], store: Pick<ModelStore, 'all'>) {
    this.fixed = new Map(fixed.map((model) => [model.id, model]))
    this.store = store
  }

  /** A model in the database takes precedence over one in the file with the same id. */
  byId(id: string): Model | null {
    return this.store.all().find((model) => model.id === id) ?? this.fixed.get(id) ?? null
  }

  list(): Model[] {
    const models = new Map(this.fixed)
    for (const model of this.store.all()) models.set(model.id, model)
    return [...models.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
  }
}
