import { ALL_COMMANDS } from './local-commands'
import { run } from './run'
import { REAL_TERMINAL } from './terminal'

process.exitCode = await run(ALL_COMMANDS, Bun.argv.slice(2), REAL_TERMINAL)
