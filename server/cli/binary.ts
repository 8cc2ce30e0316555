import { COMMANDS } from './commands'
import { run } from './run'
import { REAL_TERMINAL } from './terminal'

/** The entry point of the single binary (`bun run build:cli`): the client commands, without the gateway itself. */
process.exitCode = await run(COMMANDS, Bun.argv.slice(2), REAL_TERMINAL)
