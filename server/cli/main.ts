import { COMMANDS } from './commands'
import { LOCAL_COMMANDS } from './local-commands'
import { run } from './run'
import { REAL_TERMINAL } from './terminal'

process.exitCode = await run([...COMMANDS, ...LOCAL_COMMANDS], Bun.argv.slice(2), REAL_TERMINAL)
