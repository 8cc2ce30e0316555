import { chained, type LogCopy, type LogEnd, type LoggedGroup } from '../../../../core/ledger/log-copy'

interface LocalLog {
  /** How far the tables go, with all of the log in them. */
  readonly end: LogEnd
  /** The groups that the log file still has. */
  lines(): readonly LoggedGroup[]
  /** Applies groups to the tables. */
  apply(groups: readonly LoggedGroup[]): Promise<void>
}

/** The log here and its copy are not the same log. */
class LogsDiffer extends Error {}

/**
 * Brings the log and its copy to the same end: the tables get the groups that only the copy has, or the copy those that only the file has.
 * Either proves by the chain that one log continues the other. Resolves to that end. Throws without a change if they differ.
 */
export async function joinLogs({ end: local, lines, apply }: LocalLog, copy: LogCopy): Promise<LogEnd> {
  const there = copy.end
  if (there.number >= local.number) {
    const same = await copy.at(local.number)
    if (same?.chain !== local.chain)
      throw new LogsDiffer(
        same
          ? `group ${local.number} is another one at LOG_URL: the data and that log have different histories`
          : `the log at LOG_URL does not have group ${local.number} any more, with which the data ends: restore a newer copy of the data`,
      )
    for await (const groups of copy.after(local)) await apply(groups)
    return there
  }
  const lost = lines().filter(({ number }) => number > there.number)
  if (lost[0]?.number !== there.number + 1)
    throw new LogsDiffer(
      `the log at LOG_URL ends with group ${there.number}, the data with group ${local.number}, and the log file has not all between: it was written without LOG_URL, or PostgreSQL lost them. Run "gateway log off", then start with LOG_URL again`,
    )
  if (lost.reduce(chained, there).chain !== local.chain)
    throw new LogsDiffer(
      `the log at LOG_URL ends with group ${there.number}, and the data continues another one: they have different histories`,
    )
  for (const group of lost) await copy.append(group)
  return local
}
