import { COMMANDS } from './commands'
import { run } from './run'
import { REAL_TERMINAL } from './terminal'

/** The entry of the single binary (`bun run build:cli`): what speaks to a gateway anywhere, without the gateway itself. */
process.exitCode = await run(COMMANDS, Bun.argv.slice(2), REAL_TERMINAL)
