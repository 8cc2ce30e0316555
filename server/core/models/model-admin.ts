import { type Actor, type AuditAction, type AuditEntry, auditEntry } from '../audit'
import type { Clock } from '../clock'
import { type Failure, failure } from '../failure'
import { idTime, makeId } from '../ids'
import { isJson } from '../json'
import { err, ok, type Result } from '../result'
import type { Model } from './model'
import type { ModelStore } from './model-catalog'
import { parseModelEntry } from './model-entry'

/** Adds, prices and removes models while the gateway runs. When a change resolves, it is durable and in the audit log. */
export class ModelAdmin {
  private readonly store: ModelStore
  private readonly clock: Clock

  constructor(store: ModelStore, clock: Clock) {
    this.store = store
    this.clock = clock
  }

  /** Adds or replaces a model. Applies to the next call. */
  async put(actor: Actor, entry: unknown): Promise<Result<Model, Failure>> {
    const at = this.clock.now()
    const version = makeId('price', at)
    const model = parseModelEntry(entry, { created: Math.floor(at / 1000), priceVersion: () => version })
    if (!model.ok) return err(failure('invalid_parameter', model.error, { param: 'model' }))
    const { id, price } = model.value
    const before = this.priceBefore(id)
    await this.store.put(model.value, entry, this.audit(actor, at, 'model.put', { id, price, version }, before))
    return model
  }

  /** Changes the price of a model in the database, and what the vendor charges for it if `purchase` is given. */
  async setPrice(actor: Actor, id: string, price: object, purchase?: object): Promise<Result<Model, Failure>> {
    const entry = this.store.entryOf(id)
    if (!isJson(entry)) return err(notFound(id))
    return this.put(actor, { ...entry, price, ...(purchase && { purchase_price: purchase }) })
  }

  /** Whether the model is in the database, where its price can be changed. */
  has(id: string): boolean {
    return this.store.entryOf(id) !== undefined
  }

  /** How long ago a model's price was set, in milliseconds; null for a model that is not in the database. */
  priceAge({ priceVersion }: Model): number | null {
    const setAt = idTime('price', priceVersion)
    return setAt === null ? null : this.clock.now() - setAt
  }

  async remove(actor: Actor, id: string): Promise<Result<{ readonly id: string }, Failure>> {
    const before = this.priceBefore(id)
    const removed = await this.store.remove(id, this.audit(actor, this.clock.now(), 'model.remove', { id }, before))
    return removed ? ok({ id }) : err(notFound(id))
  }

  private audit(
    actor: Actor,
    at: number,
    action: AuditAction,
    detail: Record<string, unknown>,
    before: Record<string, unknown> | null,
  ): AuditEntry {
    return auditEntry({ at, actor, action, detail, before })
  }

  private priceBefore(id: string): Record<string, unknown> | null {
    const entry = this.store.entryOf(id)
    return isJson(entry) ? { id, price: entry['price'] } : null
  }
}

function notFound(id: string): Failure {
  return failure(
    'resource_not_found',
    `No operator added a model "${id.slice(0, 80)}". To change a model of MODELS_FILE, edit the file.`,
  )
}
