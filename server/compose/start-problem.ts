import { namedProblem } from '../adapters/stores/libsql/driver/named-problem'
import type { Config } from '../config'
import { reasonOf } from '../core/result'

/** Why a gateway did not start, in words for its operator: with the name of the database if that failed. One of many nodes has several. */
export function startProblem(
  { nodeUrl, databaseUrl }: Pick<Config, 'nodeUrl' | 'databaseUrl'>,
  error: unknown,
): string {
  return reasonOf(nodeUrl === null ? namedProblem(databaseUrl, error) : error)
}
