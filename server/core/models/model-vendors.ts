import { type Actor, type AuditAction, type AuditEntry, auditEntry } from '../audit'
import type { Clock } from '../clock'
import { type Failure, failure } from '../failure'
import { err, ok, type Result } from '../result'
import { type SealContext, type Sealing, Unsealable } from '../sealing'
import type { Model, UpstreamKind } from './model'
import { VENDOR_NAME } from './model-file-schema'

/** A server of models, with our key there. Models name it as the `vendor` of their upstream. */
export interface ModelVendor {
  readonly name: string
  readonly kind: Exclude<UpstreamKind, 'sandbox'>
  /** Includes the version path. Without a trailing slash. */
  readonly baseUrl: string
  /** Our key there, sealed; null if the server needs none. */
  readonly sealedKey: string | null
  readonly created: number
}

/** When a change resolves, it is durable, in the audit log, and visible to the next call. */
export interface ModelVendorStore {
  all(): readonly ModelVendor[]
  /** Adds a vendor, or replaces the one with its name. */
  put(vendor: ModelVendor, audit: AuditEntry): Promise<void>
  remove(name: string, audit: AuditEntry): Promise<void>
}

/** Our key at a vendor, opened: null if it needs none. */
export interface OpenedKey {
  readonly name: string
  readonly baseUrl: string
  readonly key: string | null
}

/** Our key at a vendor: undefined if there is no such vendor at this URL, or its key cannot be opened. Never logged. */
export type VendorKeyOf = (name: string, baseUrl: string) => string | null | undefined

/** Where the key of a vendor is sealed. */
export function vendorKeyContext(name: string): SealContext {
  return { table: 'model_vendors', row: name, column: 'key' }
}

interface VendorParts {
  readonly store: ModelVendorStore
  readonly sealing: Sealing
  readonly clock: Clock
  /** The models on sale. */
  readonly models: () => readonly Model[]
}

/**
 * The vendors that operators added. A vendor keeps its kind and URL for life, and its key is given out for that URL only: so no entry of a
 * model can send it anywhere else.
 */
export class ModelVendors {
  private readonly parts: VendorParts
  private readonly keys = new Map<string, { readonly sealed: string | null; readonly opened: OpenedKey }>()

  constructor(parts: VendorParts) {
    this.parts = parts
  }

  all(): readonly ModelVendor[] {
    return this.parts.store.all()
  }

  byName(name: string): Result<ModelVendor, Failure> {
    const vendor = this.all().find((one) => one.name === name)
    if (vendor) return ok(vendor)
    return err(failure('resource_not_found', `There is no vendor "${name.slice(0, 40)}" of models.`))
  }

  /** Stores a vendor. Refused if there is one of its name. */
  async add(
    actor: Actor,
    { key, ...given }: Pick<ModelVendor, 'name' | 'kind' | 'baseUrl'> & { readonly key: string | null },
  ): Promise<Result<ModelVendor, Failure>> {
    const { name, kind, baseUrl } = given
    if (!VENDOR_NAME.test(name))
      return err(
        failure('invalid_parameter', 'name must be 1 to 40 lower-case letters, digits and -, such as "openai".', {
          param: 'name',
        }),
      )
    if (this.byName(name).ok)
      return err(failure('invalid_state', `There is a vendor "${name}" already. Set its key, or choose another name.`))
    const vendor = { ...given, sealedKey: this.sealed(name, key), created: this.parts.clock.now() }
    await this.parts.store.put(vendor, this.audit(actor, 'model.vendor_add', { name, kind, base_url: baseUrl }))
    return ok(vendor)
  }

  /** Replaces our key there. Applies to the next call. */
  async setKey(actor: Actor, name: string, key: string | null): Promise<Result<ModelVendor, Failure>> {
    const found = this.byName(name)
    if (!found.ok) return found
    const vendor = { ...found.value, sealedKey: this.sealed(name, key) }
    await this.parts.store.put(vendor, this.audit(actor, 'model.vendor_key', { name }))
    return ok(vendor)
  }

  /** Refused while models are served by it. */
  async remove(actor: Actor, name: string): Promise<Result<{ readonly name: string }, Failure>> {
    const found = this.byName(name)
    if (!found.ok) return found
    const [used] = this.modelsOf(name)
    if (used !== undefined)
      return err(failure('invalid_state', `The vendor "${name}" serves ${used}. Remove its models first.`))
    await this.parts.store.remove(name, this.audit(actor, 'model.vendor_remove', { name }))
    return ok({ name })
  }

  /** The ids of the models that it serves. */
  modelsOf(name: string): readonly string[] {
    const isServed = ({ upstreams }: Model) => upstreams.some(({ vendor }) => vendor === name)
    return this.parts
      .models()
      .filter(isServed)
      .map(({ id }) => id)
  }

  readonly keyOf: VendorKeyOf = (name, baseUrl) => {
    const vendor = this.all().find((one) => one.name === name)
    return vendor?.baseUrl === baseUrl ? this.opened(vendor)?.key : undefined
  }

  /** All keys that can be opened, for workers, which have no key to unseal them. */
  openedKeys(): readonly OpenedKey[] {
    return this.all()
      .map((vendor) => this.opened(vendor))
      .filter((opened) => opened !== null)
  }

  /** Each key is opened once. */
  private opened({ name, baseUrl, sealedKey: sealed }: ModelVendor): OpenedKey | null {
    const known = this.keys.get(name)
    if (known && known.sealed === sealed && known.opened.baseUrl === baseUrl) return known.opened
    try {
      const key = sealed === null ? null : this.parts.sealing.open(sealed, vendorKeyContext(name)).text
      const opened = { name, baseUrl, key }
      this.keys.set(name, { sealed, opened })
      return opened
    } catch (error) {
      if (error instanceof Unsealable) return null
      throw error
    }
  }

  private sealed(name: string, key: string | null): string | null {
    return key === null ? null : this.parts.sealing.seal(key, vendorKeyContext(name))
  }

  private audit(actor: Actor, action: AuditAction, detail: Record<string, unknown>): AuditEntry {
    return auditEntry({ at: this.parts.clock.now(), actor, action, detail })
  }
}
