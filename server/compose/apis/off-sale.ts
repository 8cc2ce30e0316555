import type { ApiOperation } from '../../core/apis/api'
import type { ApiCatalog } from '../../core/apis/catalog/api-catalog'
import type { CellMessage } from '../../core/cluster/cell-messages'
import { MAIN_CELL } from '../../core/cluster/cells'
import { reasonOf } from '../../core/result'
import type { Log } from '../../log'
import { type CellMembership, ownsControl } from '../cluster/cells/cell-membership'

type OffSale = Omit<Extract<CellMessage, { readonly kind: 'api_off_sale' }>, 'kind'>

/** Takes an API, or one operation of it, off sale. Resolves to whether that was done. Never rejects. */
export type TakeOffSale = (what: OffSale) => Promise<boolean>

/** An operation that reported more than its maximum to several accounts. */
export function closedToAll({ name, id }: ApiOperation): OffSale {
  return { api: name.slice(0, name.length - id.length - 1), operation: id, by: 'overruns' }
}

/** The gateway that owns the control database does it; every other one asks that. */
export function takeOffSaleAt(membership: CellMembership | undefined, catalog: ApiCatalog, log: Log): TakeOffSale {
  const failed = ({ api, operation }: OffSale, reason: string) => {
    log.error('an operation could not be disabled', {
      operation: operation === null ? api : `${api}.${operation}`,
      reason,
    })
    return false
  }
  const here = async (what: OffSale) => {
    const { api, operation, by } = what
    const actor = { kind: 'system', id: by, address: null } as const
    const change = operation === null ? { enabled: false } : { operations: [{ id: operation, enabled: false }] }
    const done = await catalog.change(actor, api, change)
    return done.ok || failed(what, done.error.message)
  }
  const atMain = async (what: OffSale) => {
    await membership?.messages.send(MAIN_CELL, { kind: 'api_off_sale', ...what })
    return true
  }
  const take = ownsControl(membership) ? here : atMain
  return (what) => take(what).catch((error: unknown) => failed(what, reasonOf(error)))
}
