import { type Parameters, type ParameterTable, parseParameters } from '../../core/catalog/parameters'
import { type Failure, wrongParameters } from '../../core/failure'
import type { Result } from '../../core/result'
import type { SocketCommand } from './socket-command'

/** A command of the control socket whose body has the parameters of a route's query. */
export function queryCommand<T extends ParameterTable>(
  table: T,
  run: (query: Parameters<T>) => Promise<Result<unknown, Failure>>,
): SocketCommand {
  return async (body) => {
    const given = (typeof body === 'object' ? body : null) as Readonly<Record<string, unknown>> | null
    const query = parseParameters(table, {
      query: (name) => [given?.[name] ?? []].flat().map(String),
      header: () => null,
    })
    return query.ok ? run(query.value) : { ok: false, error: wrongParameters(query.error) }
  }
}
