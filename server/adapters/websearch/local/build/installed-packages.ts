import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringOrEmpty } from '../../../../core/json'

/** An installed package, as described by its package.json. */
export interface InstalledPackage {
  readonly name: string
  readonly version: string
  readonly folder: string
  readonly description: string
  readonly keywords: readonly string[]
  /** Its homepage, else the web page of its repository, else its page at the registry. An absolute https URL. */
  readonly homepage: string
}

/** Every package in a node_modules folder, including nested ones, by name. Of two versions the outermost is kept. */
export async function installedPackages(nodeModules: string): Promise<InstalledPackage[]> {
  const found = new Map<string, InstalledPackage>()
  let folders = [nodeModules]
  while (folders.length > 0) {
    const read = await Promise.all(folders.map(readLevel))
    for (const installed of read.flat()) {
      if (!found.has(installed.name)) found.set(installed.name, installed)
    }
    folders = read.flat().map((installed) => join(installed.folder, 'node_modules'))
  }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
}

async function readLevel(nodeModules: string): Promise<InstalledPackage[]> {
  const names = await entriesOf(nodeModules)
  const scoped = await Promise.all(
    names
      .filter((name) => name.startsWith('@'))
      .map(async (scope) => (await entriesOf(join(nodeModules, scope))).map((name) => `${scope}/${name}`)),
  )
  const plain = names.filter((name) => !name.startsWith('@') && !name.startsWith('.'))
  const read = await Promise.all([...plain, ...scoped.flat()].map((name) => readPackage(join(nodeModules, name))))
  return read.filter((installed) => installed !== null)
}

async function entriesOf(folder: string): Promise<string[]> {
  return (await readdir(folder).catch(() => [])).sort()
}

async function readPackage(folder: string): Promise<InstalledPackage | null> {
  const manifest = await readManifest(folder)
  const name = stringOrEmpty(manifest.name)
  const version = stringOrEmpty(manifest.version)
  if (name === '' || version === '') return null
  const keywords = Array.isArray(manifest.keywords) ? manifest.keywords.map(stringOrEmpty) : []
  const home = httpsPage(stringOrEmpty(manifest.homepage)) ?? repositoryPage(manifest.repository)
  return {
    name,
    version,
    folder,
    description: stringOrEmpty(manifest.description),
    keywords: keywords.filter((keyword) => keyword !== '').slice(0, 40),
    homepage: home ?? registryPage(name),
  }
}

/** The properties of a package.json that are used, not validated. */
export interface Manifest {
  readonly name?: unknown
  readonly version?: unknown
  readonly description?: unknown
  readonly keywords?: unknown
  readonly homepage?: unknown
  readonly repository?: unknown
  readonly dependencies?: unknown
  readonly devDependencies?: unknown
}

/** The package.json of a folder; empty if it is missing or unreadable. */
export async function readManifest(folder: string): Promise<Manifest> {
  const text = await readFile(join(folder, 'package.json'), 'utf8').catch(() => '{}')
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : {}
  } catch {
    return {}
  }
}

export function registryPage(name: string): string {
  return `https://www.npmjs.com/package/${name}`
}

/** A package.json `repository` as an https URL for browsers, or null. */
export function repositoryPage(repository: unknown): string | null {
  const given = typeof repository === 'object' && repository !== null ? { ...repository } : { url: repository }
  const url = stringOrEmpty('url' in given ? given.url : '')
  const shorthand = /^(?:github:)?([\w.-]+\/[\w.-]+)$/.exec(url)?.[1]
  if (shorthand) return `https://github.com/${shorthand}`
  return httpsPage(
    url
      .replace(/^git\+/, '')
      .replace(/^(?:git|ssh):\/\/(?:git@)?/, 'https://')
      .replace(/\.git$/, ''),
  )
}

/** An http(s) URL as https, or null for anything else. */
export function httpsPage(text: string): string | null {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) return null
  const url = new URL(text)
  url.protocol = 'https:'
  return url.href
}
