import { existsSync } from 'node:fs'
import { copyFile, link, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isSystemError } from '../setup/system-error'

/**
 * The files of a checkout besides code, as two archives inside the binary: those that each start needs (dashboard, migrations, icons, native
 * addon, search index), and the documents of the packages, of which that index was built. An archive's name ends in a hash of its content.
 */
export const FILES = 'gateway-files-'
export const DOCUMENTS = 'gateway-documents-'
/** In the data folder: where they are unpacked. */
export const TEMPORARY = 'tmp'
/** Files in progress. A start takes seconds. */
const DRAFT = 'draft-'
const ABANDONED_MS = 10 * 60_000
export const BUILT_INDEX = 'search.db'
export const INDEX_FINGERPRINT = 'index-fingerprint'

/**
 * Unpacks the files into the data folder, once per version, and gives a new data folder the search index. The documents, which take seconds,
 * only where an index must be built of them: after an upgrade, and with `documents`. Without `withIndex` nothing appears but the files. Two processes
 * may do it at once.
 */
export async function unpackFiles(dataDir: string, documents = false, withIndex = true): Promise<void> {
  const temporary = join(dataDir, TEMPORARY)
  await mkdir(temporary, { recursive: true, mode: 0o700 })
  const files = embedded(FILES)
  const folder = join(temporary, files.name)
  await removeAbandoned(temporary)
  const present = await readdir(temporary)
  if (!present.includes(files.name)) await unpack(files.blob, temporary, folder)
  if (!withIndex) return
  const index = join(dataDir, BUILT_INDEX)
  await placeIndex(join(folder, BUILT_INDEX), index, temporary)
  // Loads the native addon, which is among the files.
  const { storedFingerprint } = await import('../adapters/websearch/local/build/ensure-index')
  const isCurrent = (await storedFingerprint(index)) === (await readFile(join(folder, INDEX_FINGERPRINT), 'utf8'))
  if (documents || !isCurrent) await unpackDocuments(folder)
  for (const old of present) {
    if (old.startsWith(FILES) && old !== files.name) await rm(join(temporary, old), { recursive: true, force: true })
  }
}

async function unpackDocuments(folder: string): Promise<void> {
  const { name, blob } = embedded(DOCUMENTS)
  if ((await readdir(folder)).includes(name)) return
  await extract(blob, folder)
  // Its presence says that the documents are complete.
  await writeFile(join(folder, name), '')
}

/** Removes the remains of starts that were killed: a container that is restarted again and again must not fill its disk. */
async function removeAbandoned(temporary: string): Promise<void> {
  for (const name of await readdir(temporary)) {
    if (!name.startsWith(DRAFT)) continue
    const path = join(temporary, name)
    const isOld = await stat(path).then(
      ({ mtimeMs }) => Date.now() - mtimeMs > ABANDONED_MS,
      () => false, // another start moved it
    )
    if (isOld) await rm(path, { recursive: true, force: true })
  }
}

/** Unpacks next to the target and moves the complete folder there; of two at once, one wins. */
async function unpack(archive: Blob, temporary: string, target: string): Promise<void> {
  const draft = await mkdtemp(join(temporary, DRAFT))
  await extract(archive, draft)
  await rename(draft, target).catch(() => rm(draft, { recursive: true }))
}

async function extract(archive: Blob, folder: string): Promise<void> {
  await new Bun.Archive(await Bun.zstdDecompress(await archive.bytes())).extract(folder)
}

function embedded(prefix: string): { readonly name: string; readonly blob: Blob } {
  // Bun gives embedded files a name, although it types them as blobs without one.
  const named = Bun.embeddedFiles.map((blob) => ({ name: 'name' in blob ? String(blob.name) : '', blob }))
  const found = named.find(({ name }) => name.startsWith(prefix))
  if (!found) throw new Error('this binary has no files inside; build it again with bun run build:server')
  return { name: found.name.replace(/\..*$/, ''), blob: found.blob }
}

/** A new data folder starts with the index; one that exists is the operator's, and the start brings it up to date. */
async function placeIndex(built: string, at: string, temporary: string): Promise<void> {
  if (existsSync(at)) return
  const draft = join(temporary, DRAFT + crypto.randomUUID())
  await copyFile(built, draft)
  try {
    await link(draft, at)
  } catch (failure) {
    if (!isSystemError(failure, 'EEXIST')) throw failure
  } finally {
    await rm(draft, { force: true })
  }
}
