import type { Static } from '@sinclair/typebox'
import { form, line, listOf, microsUsd, record, text, whole, yesOrNo } from '../../openapi/json-schema'

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

export const RemoveArchived = form('A month to remove, and the archive that was compared with it.', {
  month: line('`2025-09`', 7),
  name: line('Its name.', 100),
  location: line('The folder or bucket that has it.', 1000),
  manifest: line('The SHA-256 of its manifest, in hex.', 64),
  charges: ARCHIVE.charges,
  charged_micros_usd: ARCHIVE.charged_micros_usd,
})
export type RemoveArchived = Static<typeof RemoveArchived>

export const RemovalStep = record('What was removed by this command.', {
  calls: whole('Calls.', { minimum: 0 }),
  charges: whole('Charges.', { minimum: 0 }),
  done: yesOrNo('Whether nothing is left to remove.'),
})
export type RemovalStep = Static<typeof RemovalStep>
