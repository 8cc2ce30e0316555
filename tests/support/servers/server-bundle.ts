import { readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { contentHash, filesBelow } from '../../../server/setup/stamp'
import { builtOnce } from './built-once'

const ROOT = join(import.meta.dir, '..', '..', '..')
/** The place of a module of the bundle: its workers, its migrations and the project are next to it. */
const OWN_PLACE = /\bimport\.meta\.(url|dirname|dir)\b/g
/** The programs of the threads of a server that answers calls: from the source each takes twice as long to start. */
const THREADS = [
  'server/adapters/stores/libsql/driver/worker/database-worker.ts',
  'server/adapters/stores/libsql/journal/log-file-worker.ts',
  'server/adapters/websearch/local/worker.ts',
]
const SCRIPT = /new URL\('(\.[^']+\.ts)', import\.meta\.url\)/g
/** In the data folder of a test: the fingerprint of the sources of its search index. */
export const KNOWN_FINGERPRINT = 'index-fingerprint'
/** Where a server looks for it, which only the binary has. */
const BINARY_FINGERPRINT = `join(ROOT, '${KNOWN_FINGERPRINT}')`

/** The hash of passwords in a server. */
const SCRYPT = '{ hash: hashPassword, verify: verifyPassword }'
/** A tenth of a second less for each sign-up. `SOURCE` and the binary have the true one. */
const QUICK_HASH = `{
  hash: async (password) => \`quick:\${new Bun.CryptoHasher('sha256').update(password).digest('hex')}\`,
  async verify({ hash, password }) { return hash === await this.hash(password) },
}`
/** Saves a twentieth of a start. */
const QUICK_START = join(ROOT, 'tests', 'support', 'collect-when-forced.ts')

let bundled: Promise<string> | null = null

/**
 * The server as one file with its bytecode, for tests whose subject is not how it loads: to find, link and compile 1,500 modules is half
 * of a start's processor time. The same code with the same packages, but for the hash of passwords; child processes, and threads that few
 * tests need, start from the source. Built once per content. Like the binary it is given the hash of the search index's sources: to read
 * every installed package for it is an eighth of a start.
 */
export function bundledServer(): Promise<string> {
  bundled ??= bundleOnce()
  return bundled
}

async function bundleOnce(): Promise<string> {
  return join(await builtOnce('server', await bundleHash(), build), 'main.js')
}

/** Of everything that decides what the bundle holds: the source, the packages and Bun. */
async function bundleHash(): Promise<string> {
  const sources = (await filesBelow(ROOT, 'server', [])).filter((file) => /\.(ts|json)$/.test(file))
  const files = [
    ...sources,
    'bun.lock',
    'tsconfig.json',
    'tests/support/servers/server-bundle.ts',
    'tests/support/collect-when-forced.ts',
  ]
  return contentHash(ROOT, files, Bun.version)
}

/** `place`: where `folder` will be. */
async function build(folder: string, place: string): Promise<void> {
  await Bun.build({
    entrypoints: ['server/main.ts', ...THREADS].map((file) => join(ROOT, file)),
    outdir: folder,
    naming: '[name].js',
    target: 'bun',
    // Only this format holds bytecode.
    format: 'cjs',
    bytecode: true,
    minify: { syntax: true, whitespace: true },
    // It loads native code, which must stay where it is installed.
    external: ['libsql'],
    plugins: [
      {
        name: 'own-place',
        setup(builder) {
          builder.onLoad({ filter: /\/server\/.*\.ts$/ }, async ({ path }) => ({
            contents: movedInto(place, path, await readFile(path, 'utf8')),
            loader: 'ts',
          }))
        },
      },
    ],
  })
}

/** A source as the bundle at `place` has it. Throws if a source has not what this replaces. */
function movedInto(place: string, path: string, source: string): string {
  for (const [file, replaced] of [
    ['/index-sources.ts', BINARY_FINGERPRINT],
    ['/library-options.ts', SCRYPT],
  ] as const)
    if (path.endsWith(file) && !source.includes(replaced))
      throw new Error(`${path} has no ${replaced} any more: see tests/support/servers/server-bundle.ts`)
  const folder = dirname(path)
  const moved = source
    .replace(SCRIPT, (own, script) => {
      const isBundled = THREADS.some((thread) => join(ROOT, thread) === join(folder, script))
      return isBundled ? `new URL('${pathToFileURL(join(place, basename(script, '.ts')))}.js')` : own
    })
    .replace(BINARY_FINGERPRINT, `join(dataDir, '${KNOWN_FINGERPRINT}')`)
    .replace(SCRYPT, QUICK_HASH)
    .replace(OWN_PLACE, (_, what) => JSON.stringify(what === 'url' ? pathToFileURL(path).href : folder))
  return path === join(ROOT, 'server/main.ts') ? `import ${JSON.stringify(QUICK_START)}\n${moved}` : moved
}
