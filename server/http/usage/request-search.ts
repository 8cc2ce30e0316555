import { formatAddress, parseAddress } from '../../core/credentials/address'
import type { RequestSearch } from '../../core/usage/reports'
import { logMeaning } from '../openapi/failure-meanings'
import type { EndpointTable } from '../routing/endpoint-table'

const STATUS = /^[1-5]\d\d$/
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/** The meaning of a text in a search of the request log: a status, an IP address, a path or whole URL, or the name of a code, request or operation. */
export function requestSearch(typed: string, table: Pick<EndpointTable, 'routeOf'>): RequestSearch {
  const text = typed.trim()
  if (STATUS.test(text)) return { by: 'status', status: Number(text) }
  // Before ids: callers choose theirs, and one that chose a code would hide its failures.
  if (logMeaning(text) !== null) return { by: 'code', code: text }
  const address = parseAddress(text)
  if (address) return { by: 'address', address: formatAddress(address) }
  const path = /^(\/|https?:)/.test(text) ? URL.parse(text, 'http://gateway')?.pathname : undefined
  return path === undefined ? { by: 'name', text } : { by: 'operations', operations: operationsAt(path, table) }
}

/** The names in the request log of what has this path, by any method. */
function operationsAt(path: string, table: Pick<EndpointTable, 'routeOf'>): readonly string[] {
  const names = METHODS.flatMap((method) => {
    const route = table.routeOf(method, path)
    if (route?.kind === 'priced') return [route.operation]
    return route?.kind === 'free' ? [route.name] : []
  })
  return [...new Set(names)]
}
