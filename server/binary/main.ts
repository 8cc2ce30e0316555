import { existsSync } from 'node:fs'
import { dataFolder } from '../config'
import { needsSecretFile, prepareDataFolder } from '../setup/data-folder'
import { allowManyRequests } from '../setup/outbound-requests'
import { secureFolder } from '../setup/secure-folder'
import { unmountedVolume } from '../setup/unmounted-volume'
import { unpackFiles } from './files'

/** The scripts of child processes, by the end of the path that their parents start them with. */
const CHILDREN: Readonly<Record<string, () => Promise<unknown>>> = {
  'worker-process.js': () => import('../worker-process'),
  'import-process.js': () => import('../adapters/openapi/import-process'),
  'read-file-process.js': () => import('../adapters/websearch/local/own/read-file-process'),
}

const HELP = `Usage: gateway-server [up] | COMMAND

  up           serve until SIGINT or SIGTERM; also without a command
  up --check   create the data folder and its secret, and do not serve
  up --accept-clock
               serve also where the clock is far from the time of the last entry
  up --new     begin a new gateway in a folder whose volume is not mounted or that does not exist

To configure the gateway, set environment variables such as PORT, HOST and DATA_DIR, or write gateway.yaml (docs/configuration.md).
Most other commands talk to a running gateway:

`

/**
 * The entry point of the single binary (`bun run build:server`): the server, its child processes, and the command line. A child is
 * started as in a checkout, by this program and the path of a script, which is embedded here.
 */
async function begin(args: readonly string[]): Promise<void> {
  const script = args.find((arg) => arg.startsWith('/$bunfs/'))
  const [first = 'up'] = args
  if (script) await CHILDREN[script.slice(script.lastIndexOf('/') + 1)]?.()
  else if (first === 'up') await serve(args.slice(1))
  else await runCommand(args)
}

async function serve(flags: readonly string[]): Promise<void> {
  const unknown = flags.find((flag) => !/^--(check|accept-clock|new|accept-failover|standby=.+)$/.test(flag))
  if (unknown !== undefined) throw new Error(`unknown option ${unknown}; see gateway-server --help`)
  allowManyRequests([process.execPath, ...Bun.argv.slice(2)])
  // A hang-up ends neither this nor the server.
  process.on('SIGHUP', () => undefined)
  const unmounted = unmountedVolume(flags)
  if (unmounted !== null) throw new Error(unmounted)
  await prepareFiles(false, flags)
  if (!flags.includes('--check')) await import('../main')
}

/** Creates the data folder with its secret, and unpacks into it what a checkout has on disk. */
async function prepareFiles(documents = false, flags: readonly string[] = []): Promise<void> {
  process.umask(0o077)
  const folder = dataFolder()
  await prepareDataFolder(folder, needsSecretFile(process.env, flags))
  await unpackFiles(folder, documents)
}

/** Unpacks the files into a data folder that may be empty otherwise, and must stay so. */
async function unpackAlone(): Promise<void> {
  process.umask(0o077)
  const folder = dataFolder()
  await secureFolder(folder, (line) => console.error(line))
  await unpackFiles(folder, false, false)
}

async function runCommand(args: readonly string[]): Promise<void> {
  const [{ ALL_COMMANDS }, { run }, { REAL_TERMINAL }] = await Promise.all([
    import('../cli/local-commands'),
    import('../cli/run'),
    import('../cli/terminal'),
  ])
  if (['--help', '-h', 'help'].includes(args[0] ?? '')) process.stdout.write(HELP)
  // It reads and writes the search index on this machine.
  if (args[0] === 'index') await prepareFiles(true)
  if (args[0] === 'doctor' && !existsSync(dataFolder()))
    throw new Error(`there is no folder ${dataFolder()}: start the gateway once, or set DATA_DIR as the gateway has it`)
  // They open databases, whose native addon is among the files. A secret made here would not be that of the copy.
  if (args[0] === 'doctor' || (args[0] === 'operator' && /^(backup|restore)$/.test(args[1] ?? ''))) await unpackAlone()
  process.exitCode = await run(ALL_COMMANDS, args, REAL_TERMINAL)
}

await begin(Bun.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`gateway: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(1)
})
