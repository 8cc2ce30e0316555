import { reasonOf } from '../../../../../core/result'

/** The code of a file that this user cannot open or write. */
export const UNOPENABLE = 'UNOPENABLE'

/** The file cannot be opened, or only be read. */
class UnopenableFile extends Error {
  readonly code = UNOPENABLE
}

/** The driver's error for a file, in words where it is only a number. */
export function fileProblem(file: string, error: unknown): unknown {
  if (!/ConnectionFailed|SQLITE_CANTOPEN|readonly database|unable to open database file/.test(reasonOf(error)))
    return error
  return new UnopenableFile(
    `${file} cannot be opened. Check that it is a database, and that the user of this process may read and write it, its folder and the files next to it`,
    { cause: error },
  )
}
