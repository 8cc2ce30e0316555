import { createHash } from 'node:crypto'
import { cp, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative, resolve } from 'node:path'
import type { BunPlugin } from 'bun'
import { buildIndex, indexFingerprint } from '../server/adapters/websearch/local/build/build-index'
import { BUILT_INDEX, DOCUMENTS, FILES, INDEX_FINGERPRINT, TEMPORARY } from '../server/binary/files'
import { buildDashboard } from '../server/setup/dashboard-build'
import { prepareDocsReader } from '../server/setup/docs-reader'
import { step } from '../server/setup/step'

/** `bun run build:server [OUTFILE]` makes dist/gateway-server: server, command line, dashboard and documents in one file. */
const ROOT = resolve(import.meta.dirname, '..')
/** Inside the binary, the folder of the entry points, at the paths that they have below ROOT. */
const EMBEDDED_ROOT = '/$bunfs/root'
const MIGRATIONS = 'server/adapters/stores/libsql/migrations'

/** Scripts that threads and child processes run: every `new URL('./script.ts', import.meta.url)` below server/. */
async function scripts(): Promise<readonly string[]> {
  const found = new Set<string>()
  for await (const file of new Bun.Glob('server/**/*.ts').scan(ROOT)) {
    for (const script of scriptsIn(file, await readFile(join(ROOT, file), 'utf8'))) found.add(script)
  }
  return [...found].sort()
}

/** Written apart: the test of imports takes the whole for an import of this file. */
const REQUIRE = 'require'
const SCRIPT = /new URL\('(\.[^']+\.ts)', import\.meta\.url\)/g

function scriptsIn(file: string, text: string): string[] {
  return [...text.matchAll(SCRIPT)].map(([, script = '']) => join(dirname(file), script))
}

/** Sources name their scripts and files by where they are themselves; in one file they are elsewhere. */
const places = (files: string): BunPlugin => ({
  name: 'places',
  setup(build) {
    build.onLoad({ filter: /\/server\/.*\.ts$/ }, async ({ path }) => {
      const file = relative(ROOT, path)
      const folder = dirname(file)
      const contents = (await readFile(path, 'utf8'))
        .replace(SCRIPT, (_, script: string) => {
          const embedded = join(folder, script).replace(/\.ts$/, '.js')
          return `new URL('file://${EMBEDDED_ROOT}/${embedded}')`
        })
        .replace(/fileURLToPath\(new URL\('\.\/([^'.]+)', import\.meta\.url\)\)/g, (_, below: string) =>
          at(files, join(folder, below)),
        )
        .replace(/import\.meta\.dir(?:name)?\b/g, at(files, folder))
      return { contents, loader: 'ts' }
    })
    // It asks for a polyfill that its importer imports first; in one file the order is another.
    build.onLoad({ filter: /\/node_modules\/tsyringe\/.*\/index\.js$/ }, async ({ path }) => {
      const isModule = path.includes('/esm')
      const polyfill = isModule ? "import 'reflect-metadata'\n" : "require('reflect-metadata')\n"
      return { contents: polyfill + (await readFile(path, 'utf8')), loader: 'js' }
    })
    // It chooses its native addon by a name that it computes. Bun would unpack an embedded one to the system's temporary folder.
    build.onLoad({ filter: /\/node_modules\/libsql\/index\.js$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8')
      const contents = text.replace(
        /function requireNative\(\) \{[\s\S]*?\n\}\n/,
        `const requireNative = () => ${REQUIRE}(${at(files, addon())})\n`,
      )
      if (contents === text)
        throw new Error('libsql loads its native addon in another way now: see tools/build-server.ts')
      return { contents, loader: 'js' }
    })
  },
})

/** Where the running binary finds `path`: in what it unpacked into the data folder, which its threads and children know as well. */
const at = (files: string, path: string) =>
  `process.getBuiltinModule('node:path').resolve(process.env.DATA_DIR?.trim() || 'data', '${TEMPORARY}', '${files}', ${JSON.stringify(path)})`

function addon(): string {
  const platforms: Readonly<Record<string, string>> = {
    linux: `linux-${process.arch}-gnu`,
    darwin: `darwin-${process.arch}`,
  }
  const platform = platforms[process.platform]
  if (platform === undefined) throw new Error('the binary is built on Linux with glibc, or on macOS')
  return `node_modules/@libsql/${platform}/index.node`
}

/**
 * Packs what the server reads from disk besides code, laid out like a checkout, as two archives (files.ts). The index is built of all of
 * it, and the fingerprint is of all of it.
 */
async function packFiles(folder: string, only?: ReadonlySet<string>): Promise<readonly string[]> {
  const files = join(folder, 'files')
  const documents = join(folder, 'documents')
  const whole = join(folder, 'whole')
  for (const path of [
    'package.json',
    'README.md',
    'docs',
    'dashboard/dist',
    MIGRATIONS,
    addon(),
    'node_modules/lucide-static/icons',
  ]) {
    await cp(join(ROOT, path), join(files, path), { recursive: true })
  }
  for (const path of await documentPaths(only)) await cp(join(ROOT, path), join(documents, path))
  for (const part of [documents, files]) await cp(part, whole, { recursive: true })
  const sources = { nodeModules: join(whole, 'node_modules'), projectRoot: whole }
  const fingerprint = await indexFingerprint(sources)
  await buildIndex({ indexPath: join(whole, BUILT_INDEX), ...sources, fingerprint })
  await cp(join(whole, BUILT_INDEX), join(files, BUILT_INDEX))
  await writeFile(join(files, INDEX_FINGERPRINT), fingerprint)
  return [await pack(files, join(folder, FILES)), await pack(documents, join(folder, DOCUMENTS))]
}

/** The files of node_modules in the index: of each package its manifest and its pages. */
async function documentPaths(only?: ReadonlySet<string>): Promise<readonly string[]> {
  const scan = (pattern: string) =>
    Array.fromAsync(new Bun.Glob(pattern).scan({ cwd: ROOT, followSymlinks: true, onlyFiles: true }))
  const pages = only
    ? [...only].map((name) => `node_modules/${name}/{package.json,*.md}`)
    : ['node_modules/**/{package.json,*.md,*.mdx}']
  const icons = 'node_modules/lucide-static/{package,icon-nodes,tags}.json'
  return (await Promise.all([...pages, icons].map(scan))).flat()
}

async function pack(from: string, name: string): Promise<string> {
  const contents: Record<string, Uint8Array> = {}
  const paths = await Array.fromAsync(new Bun.Glob('**/*').scan({ cwd: from, dot: true }))
  for (const path of paths.sort()) contents[path] = await readFile(join(from, path))
  const packed = await Bun.zstdCompress(await new Bun.Archive(contents).bytes(), { level: 12 })
  const archive = `${name}${createHash('sha256').update(packed).digest('hex').slice(0, 16)}.zst`
  await writeFile(archive, packed)
  return archive
}

async function compile(archives: readonly string[], outfile: string): Promise<void> {
  await mkdir(dirname(outfile), { recursive: true })
  const built = await Bun.build({
    entrypoints: [
      join(ROOT, 'server/binary/main.ts'),
      ...(await scripts()).map((path) => join(ROOT, path)),
      ...archives,
    ],
    root: ROOT,
    target: 'bun',
    minify: { syntax: true, whitespace: true },
    loader: { '.zst': 'file' },
    naming: { asset: '[name].[ext]', entry: '[dir]/[name].[ext]' },
    plugins: [places(basename(archives[0] ?? '', '.zst'))],
    // In parts, of which a start reads only those that it needs: as one file it took twice the time, and a command ten times.
    splitting: true,
    compile: { outfile },
  })
  if (!built.success) throw new AggregateError(built.logs, 'the binary could not be built')
}

/**
 * Makes the binary at `outfile`. `only` limits the packages whose documents are searchable, for tests: by default all that are installed.
 */
export async function buildServer(outfile: string, only?: ReadonlySet<string>): Promise<void> {
  await buildDashboard(ROOT)
  await prepareDocsReader(ROOT)
  const folder = await mkdtemp(join(tmpdir(), 'gateway-build-'))
  try {
    let archives: readonly string[] = []
    await step('Packing the dashboard, the documents and their search index', async () => {
      archives = await packFiles(folder, only)
    })
    await step('Compiling the server', () => compile(archives, outfile))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

if (import.meta.main) {
  const outfile = resolve(Bun.argv[2] ?? join(ROOT, 'dist/gateway-server'))
  await buildServer(outfile)
  console.log(`${outfile} (${Math.round((await stat(outfile)).size / 1024 / 1024)} MB)`)
}
