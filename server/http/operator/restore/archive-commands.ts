import { type Archive, ArchiveProblem, archiveMonth, isArchivable } from '../../../core/archive/archive'
import { type Actor, auditEntry } from '../../../core/audit'
import { failure } from '../../../core/failure'
import { err, ok } from '../../../core/result'
import { NoBody } from '../record'
import { type SocketCommand, socketCommand } from '../socket-command'
import { type ArchiveList, type RemovalStep, RemoveArchivedCommand } from './archive-record'

export interface ArchiveCommandParts {
  readonly archive: Archive
  readonly now: () => number
}

/** Archives over the control socket. The command that removes a month is repeated until it is done: each removes some rows. */
export function archiveCommands(
  { archive, now }: ArchiveCommandParts,
  actor: Actor,
): Readonly<Record<string, SocketCommand>> {
  return {
    archives: socketCommand(NoBody, async () => {
      const months = await archive.months()
      const archives = months.map(({ month, name, location, charges, charged }) => ({
        ...{ month: month.text, name, location, charges, charged_micros_usd: charged },
      }))
      return ok({ archives } satisfies ArchiveList)
    }),
    'archive-remove': socketCommand(RemoveArchivedCommand, async (given) => {
      const month = archiveMonth(given.month)
      if (!month || !isArchivable(month, now()))
        return err(failure('invalid_state', `${given.month} is no month that ended 13 months ago.`))
      const { name, location, manifest, charges, charged_micros_usd: charged } = given
      const detail = { name, location, charges, charged }
      try {
        const audit = auditEntry({ at: now(), actor, action: 'backup.archive', detail })
        await archive.begin({ month, name, location, manifest, charges, charged }, now(), audit)
        return ok((await archive.remove(month)) satisfies RemovalStep)
      } catch (error) {
        if (error instanceof ArchiveProblem) return err(failure('invalid_state', `${error.message}.`))
        throw error
      }
    }),
  }
}
