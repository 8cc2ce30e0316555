import { endLogCopy } from '../../compose/log-copy'
import { readConfig } from '../../config'
import { reasonOf } from '../../core/result'
import { parsedArgsWith } from '../command'
import { CommandRefused, UsageError } from '../control-client'
import { PROGRAM } from '../program'

const LOG_HELP = `Usage: ${PROGRAM} log off [--lost]

Ends the log that LOG_URL keeps in PostgreSQL, and drops its tables there. The gateway must be stopped. Unset LOG_URL
afterwards; a start with it begins a new log.

  --lost   that PostgreSQL is gone for good: only this machine forgets its log
`

/** Runs a command about the second log. Resolves to its output. */
export async function logCommand(args: readonly string[]): Promise<string> {
  const { values, positionals } = parsedArgsWith(args, { help: { type: 'boolean' }, lost: { type: 'boolean' } })
  if (values.help === true) return LOG_HELP
  if (positionals.join(' ') !== 'off') throw new UsageError(`"${PROGRAM} log" takes "off"; see --help`)
  try {
    const end = await endLogCopy(readConfig(), values.lost === true)
    return end === 'none'
      ? 'This gateway has no second log.\n'
      : 'The second log is ended. Unset LOG_URL, then start the gateway.\n'
  } catch (error) {
    throw new CommandRefused(reasonOf(error))
  }
}
