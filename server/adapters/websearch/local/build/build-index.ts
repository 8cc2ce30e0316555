import { createHash } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { beginDraft, hasBuiltIn, readIndex } from '../index-file'
import { BUILDER_VERSION, WITHOUT_BUILT_IN } from '../index-schema'
import { copyOperatorContent, sectioned } from '../own/own-tables'
import { iconImages } from './icon-images'
import type { IndexDocument, IndexImage } from './index-document'
import { whileAlone } from './index-lock'
import type { IndexCounts, IndexWriter } from './index-writer'
import { type InstalledPackage, installedPackages, readManifest } from './installed-packages'
import { ownPage, packageDocuments } from './package-documents'
import { projectDocuments, projectFiles } from './project-documents'

/** The sources of an index. Plain data, so that it can be sent to a worker. */
export interface IndexSources {
  /** The node_modules folder whose packages are indexed. */
  readonly nodeModules: string
  /** The folder whose README.md and docs are indexed. */
  readonly projectRoot: string
  readonly extraDocuments?: readonly IndexDocument[]
  readonly extraImages?: readonly IndexImage[]
  /** The fingerprint, where it is known in advance: the sources inside a binary never change, and reading them all takes seconds. */
  readonly fingerprint?: string
}

export interface BuildProgress {
  readonly done: number
  readonly total: number
  /** The document that was just indexed. */
  readonly what: string
}

/** A fingerprint of the sources: equal sources give the same text on every start. */
export async function indexFingerprint(sources: IndexSources): Promise<string> {
  if (sources.fingerprint !== undefined) return sources.fingerprint
  const [packages, project] = await Promise.all([
    installedPackages(sources.nodeModules),
    projectFiles(sources.projectRoot),
  ])
  return fingerprintOf(sources, packages, project)
}

/** Options of an index besides its sources. */
export interface BuildOptions {
  readonly indexPath: string
  /** Whether to include the built-in content. If absent: as in the current index, and yes if there is none. */
  readonly builtIn?: boolean
}

/**
 * Builds a new index file and moves it to `indexPath` atomically: a reader sees the old or the new one, never a part. Blocks the
 * thread for seconds, so a serving process calls `ensureIndex` instead.
 */
export function buildIndex(
  sources: IndexSources & BuildOptions,
  onProgress: (progress: BuildProgress) => void = () => {},
): Promise<IndexCounts> {
  return mkdir(dirname(sources.indexPath), { recursive: true }).then(() =>
    whileAlone(sources.indexPath, () => buildAlone(sources, onProgress)),
  )
}

async function buildAlone(
  sources: IndexSources & BuildOptions,
  onProgress: (progress: BuildProgress) => void,
): Promise<IndexCounts> {
  const builtAt = new Date().toISOString()
  const builtIn = sources.builtIn ?? (await hasBuiltIn(sources.indexPath))
  const draft = await beginDraft(sources.indexPath, false)
  try {
    // The operator's own documents come first: of two documents with the same URL the first is kept.
    await readIndex(sources.indexPath, (client) => copyOperatorContent(client, draft.writer))
    const packages = await installedPackages(sources.nodeModules)
    const project = await projectFiles(sources.projectRoot)
    if (builtIn) await writeAll(draft.writer, sources, packages, onProgress)
    return await draft.publish({
      fingerprint: sources.fingerprint ?? fingerprintOf(sources, packages, project),
      built_at: builtAt,
      ...(builtIn ? {} : { [WITHOUT_BUILT_IN]: '1' }),
    })
  } catch (problem) {
    await draft.discard()
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
  const rank = await closeness(sources.projectRoot)
  for (const installed of [...packages].sort((a, b) => rank(a) - rank(b))) {
    for (const found of await packageDocuments(installed, rank(installed) === DIRECT)) {
      const taken = writer.has(found.document.url) && found.document.kind === 'readme'
      const document = taken ? { ...found.document, url: ownPage(installed) } : found.document
      await writer.addDocument({ ...found, document })
    }
    tell(installed.name)
  }
  for (const image of await iconImages(sources.nodeModules)) await writer.addImage(image)
  tell('icons')
}

/** The rank of a direct dependency. Of the other packages, README and guides are enough. */
const DIRECT = 0

/** Direct dependencies come first, so that of packages that share a homepage they get its URL. */
async function closeness(projectRoot: string): Promise<(installed: InstalledPackage) => number> {
  const { dependencies, devDependencies } = await readManifest(projectRoot)
  return ({ name }) => {
    if (isMember(dependencies, name)) return DIRECT
    return isMember(devDependencies, name) ? 1 : 2
  }
}

function isMember(members: unknown, name: string): boolean {
  return typeof members === 'object' && members !== null && Object.hasOwn(members, name)
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
