import { sentence, shownName } from '../../../../core/plain-text'
import { reasonOf } from '../../../../core/result'
import { databaseFile } from './file/database-file'
import { UNOPENABLE } from './file/file-problem'
import { DatabaseError } from './worker/worker-connection'

/** Pages of proxies are long. */
const MAX_REASON = 300

/** The name of a database in a message: its file, or its host and never its token. */
export function databaseName(url: string): string {
  return databaseFile(url) ?? URL.parse(url)?.host ?? 'DATABASE_URL'
}

/** An error of a driver or a server as one sentence, to be followed by another one. */
export function shownReason(thrown: unknown): string {
  return sentence(shownName(reasonOf(thrown), MAX_REASON))
}

/** The same error, or one that says which database it is of. For who starts a gateway, and reads nothing else. */
export function namedProblem(url: string, error: unknown): unknown {
  const problem = error instanceof Error && 'params' in error ? error.cause : error
  if (!(problem instanceof DatabaseError) || problem.code === UNOPENABLE) return error
  const reason = shownReason(problem)
  const text =
    databaseFile(url) === null
      ? `The database at ${databaseName(url)} failed: ${reason} Check its log, the space on its disk, and any proxy before it`
      : `The database ${databaseName(url)} failed: ${reason} Check the space on its disk, that this user may write it and its folder, and that no other program uses it`
  return new Error(text, { cause: error })
}
