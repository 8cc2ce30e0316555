import type { ApiOperation } from '../../core/apis/api'
import type { ApiCatalog } from '../../core/apis/catalog/api-catalog'
import { reasonOf } from '../../core/result'
import type { Log } from '../../log'

interface OffSale {
  readonly api: string
  /** Null: all operations of the API. */
  readonly operation: string | null
  readonly by: string
}

/** Takes an API, or one operation of it, off sale. Resolves to whether that was done. Never rejects. */
export type TakeOffSale = (what: OffSale) => Promise<boolean>

/** An operation that reported more than its maximum to several accounts. */
export function closedToAll({ name, id }: ApiOperation): OffSale {
  return { api: name.slice(0, name.length - id.length - 1), operation: id, by: 'overruns' }
}

export function takerOffSale(catalog: ApiCatalog, log: Log): TakeOffSale {
  return async ({ api, operation, by }) => {
    const failed = (reason: string) => {
      const name = operation === null ? api : `${api}.${operation}`
      log.error('an operation could not be disabled', { operation: name, reason })
      return false
    }
    const actor = { kind: 'system', id: by, address: null } as const
    const change = operation === null ? { enabled: false } : { operations: [{ id: operation, enabled: false }] }
    try {
      const done = await catalog.change(actor, api, change)
      return done.ok || failed(done.error.message)
    } catch (error) {
      return failed(reasonOf(error))
    }
  }
}
