import type { Api } from '../core/apis/api'
import type { ApiRoutes } from '../core/apis/api-routes'
import { ApiRegistry } from '../core/apis/api-store'
import type { SecretsOf } from '../core/apis/secrets'
import { type PriceOverride, PriceTable } from '../core/catalog/prices'
import type { Model } from '../core/models/model'
import { ModelCatalog, type ModelStore } from '../core/models/model-catalog'
import type { OpenedKey, VendorKeyOf } from '../core/models/model-vendors'
import type { UpToFrom } from '../pipeline/apis/api-sale'

/** What the primary pushes to its workers: all of it to one that begins, and what has changed to all. Each piece fits into a frame. */
export interface Pushed {
  /** The first piece, and of one that begins only: they do not change as long as the primary runs. */
  readonly settings?: Readonly<Record<string, string>>
  /** With the settings, the names of all APIs: a worker that had another primary may have others. */
  readonly names?: readonly string[]
  /** Whether the workers of this machine soon leave their port, so that each response closes its connection. */
  readonly isLeaving?: boolean
  readonly tables?: Tables
  readonly apis?: readonly PushedApi[]
}

interface Tables {
  readonly models: readonly Model[]
  /** With their opened keys. */
  readonly vendors: readonly OpenedKey[]
  /** Keys of models' upstreams, by the variables of the primary that they name. */
  readonly keys: Readonly<Record<string, string>>
  readonly prices: readonly PriceOverride[]
  readonly upToFrom: UpToFrom
  /** How many workers share the concurrency of each upstream. */
  readonly workers: number
}

interface PushedApi {
  readonly name: string
  /** Null for an API that workers do not serve: their requests to it are passed on. */
  readonly api: Api | null
  /** Its opened secret. A worker has neither the variable nor the sealing key. */
  readonly secret: string | null
}

/** In characters of JSON, which may have 3 bytes each. A frame has room for 4 MB. */
const MAX_PIECE = 1024 * 1024

interface Sources {
  readonly settings: Readonly<Record<string, string>>
  readonly tables: () => Tables
  readonly routes: () => ApiRoutes
  readonly secretsOf: SecretsOf
}

type Push = (payload: readonly Pushed[]) => Promise<boolean>

/**
 * The pieces that a primary pushes. An API is read when its piece is made, so that none which is pushed after a change is older than the change. Push
 * each piece in the turn in which it is made.
 */
export class Pieces {
  private readonly sources: Sources
  private known: ReadonlyMap<string, Api> = new Map()
  /** Resolves once all that was pushed until now is taken. */
  pushed: Promise<unknown> = Promise.resolve()

  constructor(sources: Sources) {
    this.sources = sources
  }

  /** Pushes all to a worker that begins. Resolves once it has it. */
  pushAll(push: Push): Promise<void> {
    return this.push(this.all(), push)
  }

  /** Pushes what has changed to all workers. Resolves once they have it. */
  pushChanged(push: Push): Promise<void> {
    return this.push(this.changed(), push)
  }

  private push(pieces: Iterable<Pushed>, push: Push): Promise<void> {
    const pushing = inTurn(pieces, push)
    this.pushed = Promise.allSettled([this.pushed, pushing]).then(() => undefined)
    return pushing
  }

  /** For a worker that begins. */
  *all(): Iterable<Pushed> {
    const names = this.sources.routes().apis.map(({ name }) => name)
    yield { settings: this.sources.settings, names }
    yield* this.of(names)
  }

  /** For all workers: the tables, and the APIs that have changed since this was called last. */
  changed(): Iterable<Pushed> {
    const { known } = this
    const now = new Map(this.sources.routes().apis.map((api) => [api.name, api]))
    this.known = now
    return this.of([...new Set([...known.keys(), ...now.keys()])].filter((name) => known.get(name) !== now.get(name)))
  }

  private *of(names: readonly string[]): Iterable<Pushed> {
    yield { tables: this.sources.tables() }
    let apis: PushedApi[] = []
    let size = 0
    for (const name of names) {
      let one = this.api(name)
      if (size + one.size > MAX_PIECE) {
        yield { apis }
        apis = []
        size = 0
        one = this.api(name)
      }
      apis.push(one.pushed)
      size += one.size
    }
    if (apis.length > 0) yield { apis }
  }

  private api(name: string): { readonly pushed: PushedApi; readonly size: number } {
    const api = this.sources.routes().apis.find((one) => one.name === name)
    const size = api?.enabled && isServed(api) ? JSON.stringify(api).length : MAX_PIECE + 1
    if (!api || size > MAX_PIECE) return { pushed: { name, api: null, secret: null }, size: name.length }
    const secret = 'secret' in api.auth ? this.sources.secretsOf(name, api.auth.secret) : null
    return { pushed: { name, api, secret }, size }
  }
}

/** One after the other, so that no turn of this process encodes more than one. */
async function inTurn(pieces: Iterable<Pushed>, push: Push): Promise<void> {
  for (const piece of pieces) await push([piece])
}

/** The primary alone has the tokens of `oauth2`, and pays. */
function isServed({ auth }: Api): boolean {
  return auth.kind !== 'oauth2' && auth.kind !== '402'
}

const NO_MODELS: Pick<ModelStore, 'all'> = { all: () => [] }

/** A worker's copy of what it was pushed, which it uses from the moment in which that arrives. Empty before the first push. */
export class PushedTables {
  readonly prices = new PriceTable()
  readonly catalog = new ModelCatalog([], NO_MODELS, (model, account) => this.prices.modelOverride(model, account))
  readonly apis = new ApiRegistry()
  upToFrom: UpToFrom = null
  private workers = 1
  private vendors: ReadonlyMap<string, OpenedKey> = new Map()
  private keys: ReadonlyMap<string, string> = new Map()
  private readonly pushed = new Map<string, { readonly api: Api; readonly secret: string | null }>()

  readonly secretsOf: SecretsOf = (name) => this.pushed.get(name)?.secret ?? null

  readonly vendorKeyOf: VendorKeyOf = (name, baseUrl) => {
    const vendor = this.vendors.get(name)
    return vendor?.baseUrl === baseUrl ? vendor.key : undefined
  }

  readonly keyOf = (name: string): string | null => this.keys.get(name) ?? null

  take({ tables, names, apis }: Pushed): void {
    const isShared = tables !== undefined && tables.workers !== this.workers
    if (tables) {
      this.workers = tables.workers
      this.upToFrom = tables.upToFrom
      this.vendors = new Map(tables.vendors.map((vendor) => [vendor.name, vendor]))
      this.keys = new Map(Object.entries(tables.keys))
      this.catalog.replaceFixed(tables.models.map((model) => shared(model, this.workers)))
      this.prices.clear()
      for (const price of tables.prices) this.prices.set(price)
    }
    if (!apis && !names && !isShared) return
    const all = names && new Set(names)
    for (const name of this.pushed.keys()) if (all && !all.has(name)) this.pushed.delete(name)
    for (const { name, api, secret } of apis ?? [])
      if (api) this.pushed.set(name, { api, secret })
      else this.pushed.delete(name)
    const { workers } = this
    this.apis.replace([...this.pushed.values()].map(({ api }) => ({ ...api, concurrency: part(api, workers) })))
  }
}

/** A worker's part of the concurrency of an upstream. */
function part({ concurrency }: { readonly concurrency: number }, workers: number): number {
  return Math.max(1, Math.floor(concurrency / workers))
}

function shared(model: Model, workers: number): Model {
  const upstreams = model.upstreams.map((upstream) => ({ ...upstream, concurrency: part(upstream, workers) }))
  return { ...model, upstreams }
}
