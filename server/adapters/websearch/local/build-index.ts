import { createHash, randomUUID } from 'node:crypto'
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { parseMarkdown } from '../passages/markdown-sections'
import { iconImages } from './icon-images'
import type { IndexDocument, IndexImage } from './index-document'
import { BUILDER_VERSION } from './index-schema'
import { type IndexCounts, IndexWriter } from './index-writer'
import { type InstalledPackage, installedPackages, readManifest } from './installed-packages'
import { ownPage, packageDocuments, type SectionedDocument } from './package-documents'
import { projectDocuments, projectFiles } from './project-documents'

/** What an index is made of. Plain data, so that it can be sent to a worker. */
export interface IndexSources {
  /** The node_modules folder whose packages are indexed. */
  readonly nodeModules: string
  /** The folder whose README.md and docs are indexed. */
  readonly projectRoot: string
  readonly extraDocuments?: readonly IndexDocument[]
  readonly extraImages?: readonly IndexImage[]
}

export interface BuildProgress {
  readonly done: number
  readonly total: number
  /** What was just indexed. */
  readonly what: string
}

/** An unfinished build older than this was left behind by a process that died. */
const STALE_BUILD_MS = 10 * 60_000

/** Names what an index of these sources would hold. The same sources give the same text, on every start. */
export async function indexFingerprint(sources: IndexSources): Promise<string> {
  const [packages, project] = await Promise.all([
    installedPackages(sources.nodeModules),
    projectFiles(sources.projectRoot),
  ])
  return fingerprintOf(sources, packages, project)
}

/**
 * Builds the index file anew and puts it at `indexPath` in one step: a reader has the old one or the new one, never a part.
 * Works on the calling thread for seconds; a process that serves calls `ensureIndex` instead.
 */
export async function buildIndex(
  sources: IndexSources & { readonly indexPath: string },
  onProgress: (progress: BuildProgress) => void = () => {},
): Promise<IndexCounts> {
  await mkdir(dirname(sources.indexPath), { recursive: true })
  await removeStaleBuilds(sources.indexPath)
  const unfinished = `${sources.indexPath}.building-${randomUUID()}`
  const builtAt = Date.now()
  const writer = await IndexWriter.create(unfinished, Math.floor(builtAt / 1000))
  try {
    const packages = await installedPackages(sources.nodeModules)
    const project = await projectFiles(sources.projectRoot)
    await writeAll(writer, sources, packages, onProgress)
    const fingerprint = fingerprintOf(sources, packages, project)
    const counts = await writer.finish({ fingerprint, built_at: new Date(builtAt).toISOString() })
    await rename(unfinished, sources.indexPath)
    return counts
  } catch (problem) {
    writer.abandon()
    await rm(unfinished, { force: true })
    throw problem
  }
}

async function writeAll(
  writer: IndexWriter,
  sources: IndexSources,
  packages: readonly InstalledPackage[],
  onProgress: (progress: BuildProgress) => void,
): Promise<void> {
  const total = packages.length + 3
  let done = 0
  const tell = (what: string): void => onProgress({ done: ++done, total, what })
  for (const document of sources.extraDocuments ?? []) await writer.addDocument(sectioned(document))
  for (const image of sources.extraImages ?? []) await writer.addImage(image)
  tell('documents handed in')
  for (const document of await projectDocuments(sources.projectRoot)) await writer.addDocument(document)
  tell('documents of this project')
  const typed = new Set(packages.filter((installed) => installed.hasTypes).map((installed) => installed.name))
  const rank = await closeness(sources.projectRoot)
  for (const installed of [...packages].sort((a, b) => rank(a) - rank(b))) {
    for (const found of await packageDocuments(installed, typed, rank(installed) < DISTANT)) {
      const taken = writer.has(found.document.url) && found.document.kind === 'readme'
      const document = taken ? { ...found.document, url: ownPage(installed) } : found.document
      await writer.addDocument({ ...found, document })
    }
    tell(installed.name)
  }
  for (const image of await iconImages(sources.nodeModules)) await writer.addImage(image)
  tell('icons')
}

/** The rank of a package that only another package asked for. */
const DISTANT = 2

/**
 * What the project asked for itself comes first: of packages that share a homepage it is the one to stand there. Types of
 * a package follow the package.
 */
async function closeness(projectRoot: string): Promise<(installed: InstalledPackage) => number> {
  const { dependencies, devDependencies } = await readManifest(projectRoot)
  return ({ name }) => {
    if (isMember(dependencies, name)) return 0
    return isMember(devDependencies, name) || isMember(dependencies, name.replace(/^@types\//, '')) ? 1 : DISTANT
  }
}

function isMember(members: unknown, name: string): boolean {
  return typeof members === 'object' && members !== null && Object.hasOwn(members, name)
}

function sectioned(document: IndexDocument): SectionedDocument {
  const { sections, picture } = parseMarkdown(document.markdown)
  return { sections, document: picture && !document.thumbnail ? { ...document, thumbnail: picture } : document }
}

function fingerprintOf(
  sources: IndexSources,
  packages: readonly InstalledPackage[],
  project: readonly { path: string; markdown: string }[],
): string {
  const named = packages.map((installed) => [installed.name, installed.version])
  const content = [BUILDER_VERSION, named, project, sources.extraDocuments ?? [], sources.extraImages ?? []]
  return createHash('sha256').update(JSON.stringify(content)).digest('hex')
}

async function removeStaleBuilds(indexPath: string): Promise<void> {
  const folder = dirname(indexPath)
  const names = await readdir(folder)
  for (const name of names.filter((name) => name.startsWith(`${basename(indexPath)}.building-`))) {
    const changedAt = await stat(join(folder, name))
      .then((file) => file.mtimeMs)
      .catch(() => Number.POSITIVE_INFINITY)
    if (Date.now() - changedAt > STALE_BUILD_MS) await rm(join(folder, name), { force: true })
  }
}
