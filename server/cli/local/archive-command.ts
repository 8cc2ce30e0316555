import { resolve } from 'node:path'
import { type ArchiveOrder, findArchive, verifyArchive, writeArchive } from '../../compose/backup/archive'
import { storageSettings } from '../../config'
import { ArchiveProblem, archiveMonth, type RemovedMonth } from '../../core/archive/archive'
import { BackupProblem } from '../../core/backup/target'
import type { RemovalStep, RemoveArchived } from '../../http/operator/restore/archive-record'
import { parsedArgsWith } from '../command'
import { progressLines } from '../commands/operator-backup'
import { askServer, CommandRefused, UsageError } from '../control-client'
import { asJson, count } from '../print'
import type { Terminal } from '../terminal'

/** Writes archives while a gateway may run, and removes their rows through the running one. */
export async function archiveCommand(args: readonly string[], { err }: Pick<Terminal, 'err'>): Promise<string | null> {
  if (args.includes('--help') || args.includes('-h')) return null
  const options = { to: { type: 'string' }, remove: { type: 'boolean' }, json: { type: 'boolean' } } as const
  const { values, positionals } = parsedArgsWith(args, options)
  const [, text = '', ...more] = positionals
  if (text === 'list') return null
  const month = archiveMonth(text)
  if (!month || more.length > 0 || values.to === undefined)
    throw new UsageError('"operator archive" takes a month such as 2025-09, and --to FOLDER or s3://BUCKET/PREFIX')
  process.umask(0o077)
  const { dataDir, databaseUrl, access } = storageSettings()
  const order: ArchiveOrder = {
    source: { dataDir, databaseUrl, backup: { access, secrets: [], secretMark: '' } },
    month,
    to: values.to.startsWith('s3:') ? values.to : resolve(values.to),
    now: Date.now(),
    onProgress: progressLines(err),
  }
  try {
    const known = await findArchive(order)
    if (known && !values.remove)
      throw new CommandRefused(
        `${order.to} has ${known.name} already. Add --remove to compare it and remove what it has`,
      )
    const manifest = known ?? (await writeArchive(order))
    const verified = await verifyArchive(order)
    if (!values.remove)
      return values.json
        ? asJson(manifest)
        : `${order.to}/${manifest.name}: ${count(manifest.charges, 'charge')}, read back and compared.\n`
    const removed = await remove(verified, order)
    return values.json
      ? asJson({ ...manifest, removed })
      : `${order.to}/${manifest.name} was compared with the tables. Removed ${count(removed.calls, 'call')} and ${count(removed.charges, 'charge')}.\n`
  } catch (error) {
    throw error instanceof ArchiveProblem || error instanceof BackupProblem ? new CommandRefused(error.message) : error
  }
}

/** Repeats small removals, and leaves the gateway as much time for its calls in between. */
async function remove(
  { month, name, location, manifest, ...sums }: RemovedMonth,
  { source, onProgress }: ArchiveOrder,
) {
  const { charges, charged } = sums
  const body: RemoveArchived = {
    month: month.text,
    name,
    location,
    manifest,
    charges,
    charged_micros_usd: charged,
  }
  const removed = { calls: 0, charges: 0 }
  for (;;) {
    const began = performance.now()
    const step = (await askServer('POST', '/api/operator/archives/remove', body, source.dataDir)) as RemovalStep
    removed.calls += step.calls
    removed.charges += step.charges
    onProgress({ step: 'removing', bytes: removed.charges, total: charges })
    if (step.done) return removed
    await Bun.sleep(performance.now() - began)
  }
}
