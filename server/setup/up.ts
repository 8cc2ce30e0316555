import { resolve } from 'node:path'
import { bunVersionProblem } from './bun-version.ts'
import { buildDashboard } from './dashboard-build.ts'
import { prepareDataFolder } from './data-folder.ts'
import { installDependencies } from './dependencies.ts'
import { prepareDocsReader } from './docs-reader.ts'
import { stopWithNpx } from './npx-parent.ts'
import { describeFailure, SetupFailure } from './setup-failure.ts'

const HELP = `Usage: bun run up [--check]

Sets up what is missing or has changed, then serves the gateway until it gets SIGINT or SIGTERM:
  installs the dependencies, makes the data folder and its secret, builds the dashboard
  and the reader of the API documents.

  --check     set up, but do not serve
  -h, --help  show this

Configured by environment variables (PORT, HOST, DATA_DIR and others): see the table in README.md.`

const ROOT = resolve(import.meta.dirname, '../..')

/** Answers what is to come after. Imports only built-in modules: on a fresh clone there are no others yet. */
async function setUp(flags: readonly string[]): Promise<'stop' | 'serve'> {
  const unknown = flags.find((flag) => !['--check', '-h', '--help'].includes(flag))
  if (unknown !== undefined) throw new SetupFailure(`Unknown option ${unknown}; see bun run up --help.`)
  if (flags.includes('-h') || flags.includes('--help')) {
    console.log(HELP)
    return 'stop'
  }
  const { bun } = process.versions
  const problem = bunVersionProblem(bun)
  if (problem !== null) throw new SetupFailure(problem)

  // `data` and a relative DATA_DIR mean the same folder wherever this is called from.
  process.chdir(ROOT)
  const { DATA_DIR, SECRET_KEY } = process.env
  if (await installDependencies(ROOT)) startAfresh()
  await prepareDataFolder(resolve(DATA_DIR || 'data'), !SECRET_KEY)
  await buildDashboard(ROOT)
  await prepareDocsReader(ROOT)
  return flags.includes('--check') ? 'stop' : 'serve'
}

/**
 * Puts a new Bun in the place of this one, under the same process id. Bun remembers from its start that there was no
 * node_modules folder and would go on to load packages from its download cache, of versions bun.lock does not name.
 */
function startAfresh(): never {
  const { execve } = process
  if (execve === undefined) throw new SetupFailure('The dependencies are installed. Run the same command once more.')
  return execve(process.execPath, [process.execPath, ...process.execArgv, ...process.argv.slice(1)])
}

try {
  if ((await setUp(process.argv.slice(2))) === 'stop') process.exit(0)
} catch (failure) {
  console.error(describeFailure(failure))
  process.exit(1)
}
stopWithNpx()
await import('../main.ts')
