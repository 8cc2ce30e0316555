import { type Archive, ArchiveProblem, archiveMonth, isArchivable } from '../../../core/archive/archive'
import { type Actor, auditEntry } from '../../../core/audit'
import { failure } from '../../../core/failure'
import { err, ok } from '../../../core/result'
import { routeGroup } from '../../middleware/request-context'
import { UNDOCUMENTED } from '../../openapi/documented'
import { allowed } from '../../routing/api-access'
import { CONSOLE_ONLY, type CommandResult, command } from '../operator-roles'
import { type ArchiveList, type RemovalStep, RemoveArchived } from './archive-record'

export interface ArchiveParts {
  readonly archive: Archive
  readonly now: () => number
}

/** Archives, for the console. The command that removes a month is repeated until it is done: each removes some rows. */
export function archiveRoutes(parts: ArchiveParts) {
  return routeGroup({ name: 'operator-archives', prefix: '/api/operator/archives' })
    .get(
      '',
      ...allowed(CONSOLE_ONLY, UNDOCUMENTED, async (): Promise<ArchiveList> => {
        const archives = (await parts.archive.months()).map(({ month, name, location, charges, charged }) => ({
          month: month.text,
          name,
          location,
          charges,
          charged_micros_usd: charged,
        }))
        return { archives }
      }),
    )
    .post('/remove', ...command(CONSOLE_ONLY, RemoveArchived, (actor, form) => removeArchived(parts, actor, form)))
}

async function removeArchived(
  { archive, now }: ArchiveParts,
  actor: Actor,
  { month: text, name, location, manifest, charges, charged_micros_usd: charged }: RemoveArchived,
): CommandResult<RemovalStep> {
  const month = archiveMonth(text)
  if (!month || !isArchivable(month, now()))
    return err(failure('invalid_state', `${text} is no month that ended 13 months ago.`))
  try {
    const detail = { name, location, charges, charged }
    const audit = auditEntry({ at: now(), actor, action: 'backup.archive', detail })
    await archive.begin({ month, name, location, manifest, charges, charged }, now(), audit)
    return ok(await archive.remove(month))
  } catch (error) {
    if (error instanceof ArchiveProblem) return err(failure('invalid_state', `${error.message}.`))
    throw error
  }
}
