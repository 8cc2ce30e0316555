import { instant, listOf, oneOf, orNull, record, text, whole } from './json-schema'

/** A node as operators see it. */
export const NODE = record('One node.', {
  id: text('Node ID. Changes at every start.'),
  url: text('How other nodes reach it.'),
  version: text('Its version.'),
  role: oneOf(
    ['owner', 'standby', 'gone'],
    '`owner`: it decides for the accounts of its cells. `gone`: not seen for 10 seconds.',
  ),
  cells: listOf(text('A cell.'), 'The cells that it owns; `main` where accounts are not divided.'),
  since: instant('Since when it has this role.'),
  seen_ms_ago: whole('How long ago it was last seen.'),
  clock_ms: whole("How far its clock is ahead of the database's."),
  time_zones: orNull(
    oneOf(['same', 'different'], "Whether its rules of time zones are the owner's: days and budgets end by them."),
    'not known',
  ),
})
