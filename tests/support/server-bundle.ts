import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { whileAlone } from '../../server/adapters/websearch/local/build/index-lock'
import { contentHash, filesBelow } from '../../server/setup/stamp'

const ROOT = join(import.meta.dir, '..', '..')
const CACHE = join(ROOT, 'node_modules', '.cache', 'gateway-tests')
const PREFIX = 'server-'
/** What a module of the bundle still is to be told of its own place: its workers, its migrations and the project lie beside it. */
const OWN_PLACE = /\bimport\.meta\.(url|dirname|dir)\b/g

let bundled: Promise<string> | null = null

/**
 * The server as few files, for tests whose subject is not how it loads: a start finds, links and compiles 1,500 modules, a quarter of its
 * processor time. The same code with the same packages; workers and child processes start from the source. Built once per content.
 */
export function bundledServer(): Promise<string> {
  bundled ??= bundleOnce()
  return bundled
}

async function bundleOnce(): Promise<string> {
  const folder = join(CACHE, PREFIX + (await bundleHash()))
  const entry = join(folder, 'main.js')
  await mkdir(CACHE, { recursive: true })
  await whileAlone(join(CACHE, 'server'), async () => {
    if (await Bun.file(entry).exists()) return
    const older = (await readdir(CACHE)).filter((name) => name.startsWith(PREFIX))
    for (const name of older) await rm(join(CACHE, name), { recursive: true, force: true })
    const building = join(CACHE, `${PREFIX}building`)
    await build(building)
    await rename(building, folder)
  })
  return entry
}

/** Of everything that decides what the bundle holds: the source, the packages and Bun. */
async function bundleHash(): Promise<string> {
  const sources = (await filesBelow(ROOT, 'server', [])).filter((file) => /\.(ts|json)$/.test(file))
  const files = [...sources, 'bun.lock', 'tsconfig.json', 'tests/support/server-bundle.ts']
  return (await contentHash(ROOT, files, Bun.version)).slice(0, 16)
}

async function build(folder: string): Promise<void> {
  await Bun.build({
    entrypoints: [join(ROOT, 'server', 'main.ts')],
    outdir: folder,
    target: 'bun',
    // What the server imports later stays a file that it loads later.
    splitting: true,
    // Native code, which must stay where it is installed.
    external: ['libsql', '@libsql/*'],
    plugins: [
      {
        name: 'own-place',
        setup(builder) {
          builder.onLoad({ filter: /\/server\/.*\.ts$/ }, async ({ path }) => ({
            contents: (await readFile(path, 'utf8')).replace(OWN_PLACE, (_, what) =>
              JSON.stringify(what === 'url' ? pathToFileURL(path).href : dirname(path)),
            ),
            loader: 'ts',
          }))
        },
      },
    ],
  })
}
