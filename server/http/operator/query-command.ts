import { type Parameters, type ParameterTable, parseParameters } from '../../core/catalog/parameters'
import { type Failure, wrongParameters } from '../../core/failure'
import { err, ok, type Result } from '../../core/result'
import type { SocketCommand } from './socket-command'

/** The parameters of a route's query, as the body of a command has them. */
export function queryOfBody<T extends ParameterTable>(table: T, body: unknown): Result<Parameters<T>, Failure> {
  const given = (typeof body === 'object' ? body : null) as Readonly<Record<string, unknown>> | null
  const query = parseParameters(table, {
    query: (name) => [given?.[name] ?? []].flat().map(String),
    header: () => null,
  })
  return query.ok ? query : err(wrongParameters(query.error))
}

/** A command of the control socket whose body has the parameters of a route's query. `read` says what a query asks for. */
export function queryCommand<T extends ParameterTable, Q>(
  table: T,
  read: (query: Parameters<T>) => Result<Q, Failure>,
  run: (asked: Q) => Promise<unknown>,
): SocketCommand {
  return async (body) => {
    const query = queryOfBody(table, body)
    if (!query.ok) return query
    const asked = read(query.value)
    return asked.ok ? ok(await run(asked.value)) : asked
  }
}
