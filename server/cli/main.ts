import { operatorCommand } from './commands/operator'
import { Misused, Refused } from './control-client'

const HELP = `Usage: bun run gateway COMMAND

  index      your own documents in the search index (bun run gateway index --help)
  operator   credit, limits and prices of the server that runs here (bun run gateway operator --help)
  wallet     a test wallet that pays for a call on the sandbox chain (bun run gateway wallet --help)

  --help     prints this
`

/** Runs the command line; resolves to the exit code: 0 done, 1 refused, 2 wrong usage. */
async function run([command, ...rest]: readonly string[]): Promise<number> {
  try {
    if (command === 'operator') process.stdout.write(await operatorCommand(rest))
    else if (command === 'index') process.stdout.write(await (await import('./local/index-command')).indexCommand(rest))
    else if (command === 'wallet')
      process.stdout.write(await (await import('./local/wallet-command')).walletCommand(rest))
    else if (command === undefined || command === '--help' || command === '-h' || command === 'help')
      process.stdout.write(HELP)
    else throw new Misused(`there is no command "${command}"; see --help`)
    return 0
  } catch (error) {
    if (!(error instanceof Refused) && !(error instanceof Misused)) throw error
    process.stderr.write(`gateway: ${error.message}\n`)
    return error instanceof Misused ? 2 : 1
  }
}

process.exitCode = await run(Bun.argv.slice(2))
