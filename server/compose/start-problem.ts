import { namedProblem } from '../adapters/stores/libsql/driver/named-problem'
import type { Config } from '../config'
import { reasonOf } from '../core/result'

/** Why a gateway did not start, in words for its operator: with the name of the database if that failed. */
export function startProblem({ databaseUrl }: Pick<Config, 'databaseUrl'>, error: unknown): string {
  return reasonOf(namedProblem(databaseUrl, error))
}
