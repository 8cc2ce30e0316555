import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'

/**
 * `bun run sbom`: what a gateway consists of, from bun.lock: dist/sbom.cdx.json (CycloneDX 1.6) and dist/licenses.md. That is what the server
 * needs, what is built into the dashboard and the API reference, and Bun.
 */
const ROOT = resolve(import.meta.dirname, '..')

/** Licences that let an operator run, change and pass on the gateway. Anything else needs a look by a person first. */
const ACCEPTED_LICENCES: ReadonlySet<string> = new Set(
  '0BSD Apache-2.0 BlueOak-1.0.0 BSD-2-Clause BSD-3-Clause CC0-1.0 ISC MIT MIT-0 MPL-2.0 Python-2.0 Unlicense Zlib'.split(
    ' ',
  ),
)

/** Built into the page of the API reference. */
const REFERENCE = '@scalar/api-reference'
/** Bun is MIT; it contains JavaScriptCore, which is LGPL: https://bun.com/docs/project/licensing */
const BUN_LICENCE = 'MIT AND LGPL-2.0-only'

export interface Component {
  readonly name: string
  readonly version: string
  /** SPDX expression; null where this platform does not install the package, or it names none. */
  readonly licence: string | null
  /** SHA-512 of the package's archive, in hex. */
  readonly sha512: string | null
}

interface Requirements {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly optionalPeers?: readonly string[]
}

type LockedPackage = readonly [id: string, registry: string, requires: Requirements, integrity?: string]

interface Lock {
  readonly workspaces: Readonly<Record<'', Requirements>>
  readonly packages: Readonly<Record<string, LockedPackage>>
}

/** Everything that a gateway has inside, itself excluded, by name and version. Reads the sources, bun.lock and node_modules in `root`. */
export async function shippedComponents(root: string): Promise<readonly Component[]> {
  const lock: Lock = JSON.parse((await readFile(join(root, 'bun.lock'), 'utf8')).replace(/,(\s*[}\]])/g, '$1'))
  const found = new Map<string, Component>()
  const seen = new Set<string>()
  const direct = [...namesOf(lock.workspaces['']), ...(await dashboardPackages(root)), REFERENCE]
  const open = direct.map((name) => ({ from: [] as readonly string[], name }))
  for (let next = open.pop(); next; next = open.pop()) {
    const path = locate(lock, next.from, next.name)
    const key = path?.join('/') ?? ''
    const locked = lock.packages[key]
    if (!path || !locked || seen.has(key)) continue
    seen.add(key)
    const [id, , requires, integrity] = locked
    const at = id.lastIndexOf('@')
    found.set(id, {
      name: id.slice(0, at),
      version: id.slice(at + 1),
      licence: await licenceOf(join(root, ...path.flatMap((name) => ['node_modules', name]))),
      sha512: integrity?.startsWith('sha512-') ? Buffer.from(integrity.slice(7), 'base64').toString('hex') : null,
    })
    for (const name of namesOf(requires)) open.push({ from: path, name })
  }
  found.set('bun', { name: 'bun', version: Bun.version, licence: BUN_LICENCE, sha512: null })
  return [...found.values()].sort((a, b) => a.name.localeCompare(b.name) || a.version.localeCompare(b.version))
}

/** The packages that the dashboard imports. They are development dependencies, because the build puts them into its files. */
export async function dashboardPackages(root: string): Promise<ReadonlySet<string>> {
  const names = new Set<string>()
  for await (const file of new Bun.Glob('dashboard/src/**/*.{ts,tsx,css}').scan(root)) {
    const text = await readFile(join(root, file), 'utf8')
    for (const [, name = ''] of text.matchAll(/(?:from|import) ['"]((?:@[\w-]+\/)?[\w-]+)(?:\/[^'"]*)?['"]/g))
      names.add(name)
  }
  return names
}

/** Components whose licence is not on the list. Packages of other platforms are of their parent's project and are not judged. */
export function unaccepted(components: readonly Component[]): readonly Component[] {
  const accepted = (expression: string) =>
    expression
      .replace(/[()]/g, '')
      .split(/ OR /i)
      .some((choice) => choice.split(/ AND /i).every((licence) => ACCEPTED_LICENCES.has(licence.trim())))
  return components.filter(({ name, licence }) => name !== 'bun' && licence !== null && !accepted(licence))
}

function namesOf({
  dependencies,
  optionalDependencies,
  peerDependencies,
  optionalPeers = [],
}: Requirements): Set<string> {
  const peers = Object.keys(peerDependencies ?? {}).filter((name) => !optionalPeers.includes(name))
  return new Set([...Object.keys(dependencies ?? {}), ...Object.keys(optionalDependencies ?? {}), ...peers])
}

/** Where `name` resolves to for the package at `from`: among its own dependencies first, then each level up, as Node does. */
function locate({ packages }: Lock, from: readonly string[], name: string): readonly string[] | null {
  for (let depth = from.length; depth >= 0; depth--) {
    const path = [...from.slice(0, depth), name]
    if (packages[path.join('/')]) return path
  }
  return null
}

async function licenceOf(folder: string): Promise<string | null> {
  const text = await readFile(join(folder, 'package.json'), 'utf8').catch(() => null)
  if (text === null) return null
  const { license, licenses } = JSON.parse(text)
  const named = license ?? licenses?.[0]
  return typeof named === 'string' ? named : (named?.type ?? 'not named')
}

/** The components as CycloneDX 1.6. The same lock file always gives the same text. */
export function cyclonedx(version: string, components: readonly Component[]): object {
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: { type: 'application', name: 'paid-api-gateway', version } },
    components: components.map(({ name, version: of, licence, sha512 }) => ({
      type: name === 'bun' ? 'platform' : 'library',
      'bom-ref': `pkg:npm/${name.replace('@', '%40')}@${of}`,
      name,
      version: of,
      purl: `pkg:npm/${name.replace('@', '%40')}@${of}`,
      ...(licence && { licenses: [{ expression: licence }] }),
      ...(sha512 && { hashes: [{ alg: 'SHA-512', content: sha512 }] }),
    })),
  }
}

if (import.meta.main) {
  const components = await shippedComponents(ROOT)
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  await mkdir(join(ROOT, 'dist'), { recursive: true })
  await writeFile(join(ROOT, 'dist/sbom.cdx.json'), `${JSON.stringify(cyclonedx(version, components), null, 2)}\n`)
  const rows = components.map(
    ({ name, version: of, licence }) => `| ${name} | ${of} | ${licence ?? 'other platform'} |`,
  )
  await writeFile(
    join(ROOT, 'dist/licenses.md'),
    `| package | version | licence |\n|---|---|---|\n${rows.join('\n')}\n`,
  )
  console.log(`${components.length} packages: dist/sbom.cdx.json, dist/licenses.md`)
  for (const { name, version: of, licence } of unaccepted(components)) {
    console.error(`${name} ${of} has the licence ${licence}, which is not on the list in tools/sbom.ts`)
    process.exitCode = 1
  }
}
