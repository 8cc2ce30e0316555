import { resolve } from 'node:path'
import { bunVersionProblem } from './bun-version.ts'
import { buildDashboard } from './dashboard-build.ts'
import { needsSecretFile, prepareDataFolder } from './data-folder.ts'
import { installDependencies } from './dependencies.ts'
import { prepareDocsReader } from './docs-reader.ts'
import { allowManyRequests } from './outbound-requests.ts'
import { stopWithParents } from './parents.ts'
import { describeFailure, SetupFailure } from './setup-failure.ts'
import { unmountedVolume } from './unmounted-volume.ts'

const HELP = `Usage: bun run up [--check] [--accept-clock] [--new] [--standby=REPLICA [--accept-failover]]

Sets up what is missing or has changed, then serves the gateway until SIGINT or SIGTERM. Setup installs
the dependencies, creates the data folder and its secret, and builds the dashboard and the API reference.

  --check         set up, but do not serve
  --accept-clock  serve also where the clock is far from the time of the last entry
  --new           begin a new gateway in a folder whose volume is not mounted or that does not exist
  --standby=REPLICA
                  keep a copy of the gateway that Litestream copies to REPLICA, and take over when its lease at LOG_URL runs out
  --accept-failover
                  take over although PostgreSQL was promoted to a replica that may lack charges
  -h, --help      print this help

To configure the gateway, set environment variables such as PORT, HOST and DATA_DIR: see docs/configuration.md.`

const KNOWN = /^(--(check|accept-clock|new|accept-failover|standby=.+|help)|-h)$/
const ROOT = resolve(import.meta.dirname, '../..')
const COMMAND = [process.execPath, ...process.execArgv, ...process.argv.slice(1)]

/** Returns what to do next. Uses only built-in modules, because a fresh clone has no others yet. */
async function setUp(flags: readonly string[]): Promise<'stop' | 'serve'> {
  const unknown = flags.find((flag) => !KNOWN.test(flag))
  if (unknown !== undefined) throw new SetupFailure(`Unknown option ${unknown}; see bun run up --help.`)
  if (flags.includes('-h') || flags.includes('--help')) {
    console.log(HELP)
    return 'stop'
  }
  const { bun } = process.versions
  const problem = bunVersionProblem(bun)
  if (problem !== null) throw new SetupFailure(problem)

  // A relative DATA_DIR must mean the same folder from wherever this is called.
  process.chdir(ROOT)
  const unmounted = unmountedVolume(flags)
  if (unmounted !== null) throw new SetupFailure(unmounted)
  if (await installDependencies(ROOT)) restart()
  await prepareDataFolder(resolve(process.env['DATA_DIR'] || 'data'), needsSecretFile(process.env, flags))
  await buildDashboard(ROOT)
  await prepareDocsReader(ROOT)
  return flags.includes('--check') ? 'stop' : 'serve'
}

/**
 * Replaces this process with a new Bun. Bun remembers that there was no node_modules folder when it started, and would load packages
 * from its download cache, in versions that are not in bun.lock.
 */
function restart(): never {
  const { execve } = process
  if (execve === undefined) throw new SetupFailure('The dependencies are installed. Run the same command again.')
  return execve(process.execPath, COMMAND)
}

allowManyRequests(COMMAND)
// From the first step on: a set-up can take minutes. A hang-up ends neither it nor the server.
stopWithParents()
process.on('SIGHUP', () => undefined)
try {
  if ((await setUp(process.argv.slice(2))) === 'stop') process.exit(0)
} catch (failure) {
  console.error(describeFailure(failure))
  process.exit(1)
}
await import('../main.ts')
