import { printable } from '../core/plain-text'
import { VERSION } from '../core/version'
import type { Command } from './command'
import { CommandRefused, UsageError } from './control-client'
import { PROGRAM } from './program'
import type { Terminal } from './terminal'

/** Runs the command line. Resolves to the exit code: 0 success, 1 refused by the gateway, 2 wrong usage (nothing was sent). */
export async function run(
  commands: readonly Command[],
  [name, ...rest]: readonly string[],
  given: Terminal,
): Promise<0 | 1 | 2> {
  const terminal = guarded(given)
  try {
    if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
      terminal.out(help(commands))
      return 0
    }
    if (name === '--version') {
      terminal.out(`${VERSION}\n`)
      return 0
    }
    const command = commands.find((one) => one.name === name)
    if (!command) throw new UsageError(`unknown command "${name}"; see --help`)
    const asksForHelp = command.usage !== '' && (rest.includes('--help') || rest.includes('-h'))
    if (asksForHelp) terminal.out(`Usage: ${PROGRAM} ${command.name} ${command.usage}`)
    else await command.run(rest, terminal)
    return 0
  } catch (error) {
    const isExpected = error instanceof CommandRefused || error instanceof UsageError
    const detail = error instanceof Error ? (error.stack ?? error.message) : String(error)
    terminal.err(`gateway: ${isExpected ? error.message : detail}\n`)
    return error instanceof UsageError ? 2 : 1
  }
}

/** Removes control characters from all output, because it may contain text of others. */
function guarded(terminal: Terminal): Terminal {
  return {
    ...terminal,
    out: (text) => terminal.out(printable(text)),
    err: (text) => terminal.err(printable(text)),
  }
}

function help(commands: readonly Command[]): string {
  const widest = Math.max(...commands.map(({ name }) => name.length))
  return `Usage: ${PROGRAM} COMMAND

${commands.map(({ name, summary }) => `  ${name.padEnd(widest)}   ${summary}`).join('\n')}

Run "${PROGRAM} COMMAND --help" for the options of a command, and "${PROGRAM} --version" for its version.

Exit codes: 0 success, 1 refused by the gateway, 2 wrong usage (nothing was sent).
`
}
