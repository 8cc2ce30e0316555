import type { Static } from '@sinclair/typebox'
import { type Archive, ArchiveProblem, archiveMonth, isArchivable } from '../../../core/archive/archive'
import { type Actor, auditEntry } from '../../../core/audit'
import { failure } from '../../../core/failure'
import { err, ok } from '../../../core/result'
import { form, line, listOf, microsUsd, record, text, whole, yesOrNo } from '../../openapi/json-schema'
import { NoBody } from '../record'
import { type SocketCommand, socketCommand } from '../socket-command'

const ARCHIVE = {
  month: text('`2025-09`'),
  name: text('Its name.'),
  location: text('The folder or bucket that has it.'),
  charges: whole('How many charges it has.', { minimum: 0 }),
  charged_micros_usd: microsUsd('Their sum.'),
}
export const ArchiveList = record('The months whose calls and charges are in archives.', {
  archives: listOf(record('An archive.', ARCHIVE), 'The oldest first.'),
})
export type ArchiveList = Static<typeof ArchiveList>

export const RemoveArchivedCommand = form('A month to remove, and the archive that was compared with it.', {
  month: line('`2025-09`', 7),
  name: line('Its name.', 100),
  location: line('The folder or bucket that has it.', 1000),
  manifest: line('The SHA-256 of its manifest, in hex.', 64),
  charges: ARCHIVE.charges,
  charged_micros_usd: ARCHIVE.charged_micros_usd,
})
export type RemoveArchivedCommand = Static<typeof RemoveArchivedCommand>

export const RemovalStep = record('What was removed by this command.', {
  calls: whole('Calls.', { minimum: 0 }),
  charges: whole('Charges.', { minimum: 0 }),
  done: yesOrNo('Whether nothing is left to remove.'),
})
export type RemovalStep = Static<typeof RemovalStep>

export interface ArchiveCommandParts {
  readonly archive: Archive
  readonly now: () => number
}

/** Archives over the control socket. Whoever removes a month repeats the command until it is done: each removes some rows. */
export function archiveCommands(
  { archive, now }: ArchiveCommandParts,
  actor: Actor,
): Readonly<Record<string, SocketCommand>> {
  return {
    archives: socketCommand('main', NoBody, async () => {
      const months = await archive.months()
      const archives = months.map(({ month, name, location, charges, charged }) => ({
        ...{ month: month.text, name, location, charges, charged_micros_usd: charged },
      }))
      return ok({ archives } satisfies ArchiveList)
    }),
    'archive-remove': socketCommand('main', RemoveArchivedCommand, async (given) => {
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
