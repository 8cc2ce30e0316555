import { type Actor, type AuditAction, type AuditEntry, auditEntry } from '../audit'
import type { Clock } from '../clock'
import { type Failure, failure } from '../failure'
import { idTime, makeId } from '../ids'
import { isJson } from '../json'
import { err, ok, type Result } from '../result'
import type { Model } from './model'
import type { ModelStore } from './model-catalog'
import { parseModelEntry } from './model-entry'
import type { ModelVendors } from './model-vendors'

/** Adds, prices and removes models while the gateway runs. When a change resolves, it is durable and in the audit log. */
export class ModelAdmin {
  private readonly store: ModelStore
  private readonly clock: Clock
  private readonly vendors: Pick<ModelVendors, 'byName'>

  constructor(store: ModelStore, vendors: Pick<ModelVendors, 'byName'>, clock: Clock) {
    this.store = store
    this.vendors = vendors
    this.clock = clock
  }

  /** Adds or replaces a model. Applies to the next call. */
  async put(actor: Actor, given: unknown): Promise<Result<Model, Failure>> {
    const filled = this.withVendors(given)
    if (!filled.ok) return filled
    const entry = filled.value
    const at = this.clock.now()
    const version = makeId('price', at)
    const model = parseModelEntry(entry, { created: Math.floor(at / 1000), priceVersion: () => version })
    if (!model.ok) return err(failure('invalid_parameter', model.error, { param: 'model' }))
    const { id, price, access } = model.value
    const before = this.priceBefore(id)
    await this.store.put(model.value, entry, this.audit(actor, at, 'model.put', { id, price, access, version }, before))
    return model
  }

  /** Changes some members of the entry of a model in the database. Null removes one. */
  async change(actor: Actor, id: string, members: Readonly<Record<string, unknown>>): Promise<Result<Model, Failure>> {
    const entry = this.store.entryOf(id)
    if (!isJson(entry)) return err(notFound(id))
    const changed = Object.entries({ ...entry, ...members }).filter(([, value]) => value !== null)
    return this.put(actor, Object.fromEntries(changed))
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

  /** The entry with the kind and the URL of the vendors that it names. */
  private withVendors(entry: unknown): Result<unknown, Failure> {
    if (!isJson(entry)) return ok(entry)
    const { upstream, upstreams }: Readonly<Record<string, unknown>> = { ...entry }
    if (upstream === undefined && upstreams === undefined) return ok(entry)
    const filled: unknown[] = []
    for (const one of Array.isArray(upstreams) ? upstreams : [upstream]) {
      const vendor = isJson(one) && typeof one['vendor'] === 'string' ? this.vendors.byName(one['vendor']) : null
      if (vendor && !vendor.ok) return vendor
      filled.push(vendor ? { ...Object(one), kind: vendor.value.kind, base_url: vendor.value.baseUrl } : one)
    }
    return ok({ ...entry, ...(Array.isArray(upstreams) ? { upstreams: filled } : { upstream: filled[0] }) })
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
    return isJson(entry) ? { id, price: entry['price'], access: entry['access'] } : null
  }
}

function notFound(id: string): Failure {
  return failure(
    'resource_not_found',
    `No operator added a model "${id.slice(0, 80)}". To change a model of MODELS_FILE, edit the file.`,
  )
}
