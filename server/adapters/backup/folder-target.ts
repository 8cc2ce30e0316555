import { mkdir, mkdtemp, readdir, readFile, rename, rm, rmdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type CopyManifest, isCopyName, MANIFEST, manifestText, parseManifest } from '../../core/backup/copy'
import { BackupProblem, type BackupTarget, type CopyDraft } from '../../core/backup/target'
import { HOUR_MS } from '../../core/clock'
import { copyFileDurably, syncFile } from './files'

const ABANDONED_MS = HOUR_MS
/** Made and removed, to see whether a copy could be: rights alone do not show a full or read-only disk. */
const WRITE_TEST = '.gateway-write-test-'
const DRAFT = /^\.(gateway-.*)\.partial$/

/** Copies in a folder of this machine, such as a mounted disk: one folder per copy. */
export class FolderTarget implements BackupTarget {
  readonly location: string

  constructor(folder: string) {
    this.location = folder
  }

  async writeProblem(): Promise<string | null> {
    try {
      await requireWritable(this.location)
      return null
    } catch (error) {
      return `${this.location} cannot be written: ${error instanceof Error ? error.message : error}`
    }
  }

  async copies(): Promise<readonly CopyManifest[]> {
    const names = await readdir(this.location).catch((error: unknown) => {
      if (Object(error).code === 'ENOENT') return []
      throw error
    })
    const found = await Promise.all(names.filter(isCopyName).map((name) => this.manifest(name)))
    return found.filter((manifest) => manifest !== null).sort((a, b) => a.takenAt - b.takenAt)
  }

  async draft(name: string): Promise<CopyDraft> {
    const root = this.location
    const folder = join(root, `.${name}.partial`)
    try {
      await mkdir(root, { recursive: true, mode: 0o700 })
      await this.removeAbandoned()
      await mkdir(folder, { mode: 0o700 })
    } catch (error) {
      throw new BackupProblem(`${root} cannot be written: ${error instanceof Error ? error.message : error}`)
    }
    return {
      folder,
      async publish(manifest) {
        const path = join(folder, MANIFEST)
        await Bun.write(path, manifestText(manifest), { mode: 0o600 })
        for (const file of [...manifest.files.map((one) => join(folder, one.name)), path]) await syncFile(file)
        await syncFile(folder)
        await rename(folder, join(root, name))
        await syncFile(root)
      },
      discard: () => rm(folder, { recursive: true, force: true }),
    }
  }

  fetch({ name }: CopyManifest, file: string, to: string): Promise<void> {
    return copyFileDurably(join(this.location, name, file), to)
  }

  async remove({ name, files }: CopyManifest): Promise<void> {
    const folder = join(this.location, name)
    for (const file of [MANIFEST, ...files.map((one) => one.name)]) await rm(join(folder, file), { force: true })
    // Stays if somebody put another file there.
    await rmdir(folder).catch(() => undefined)
  }

  /** The manifest of a copy; null if the copy is not complete. */
  private async manifest(name: string): Promise<CopyManifest | null> {
    const text = await readFile(join(this.location, name, MANIFEST), 'utf8').catch(() => '')
    const manifest = parseManifest(text)
    return manifest?.name === name ? manifest : null
  }

  /** Drafts of processes that were killed. Another gateway may be writing one here now, but not for long without a change. */
  private async removeAbandoned(): Promise<void> {
    for (const name of await readdir(this.location)) {
      const copy = DRAFT.exec(name)?.[1]
      if (copy === undefined || !isCopyName(copy)) continue
      const folder = join(this.location, name)
      const files = [folder, ...(await readdir(folder).catch(() => [])).map((file) => join(folder, file))]
      const times = await Promise.all(
        files.map((file) =>
          stat(file).then(
            ({ mtimeMs }) => mtimeMs,
            () => 0,
          ),
        ),
      )
      if (Date.now() - Math.max(...times) > ABANDONED_MS) await rm(folder, { recursive: true, force: true })
    }
  }
}

/** Throws unless a copy could be written. A folder that does not exist yet is created by the first backup, so its parent counts. */
async function requireWritable(folder: string): Promise<void> {
  const found = await stat(folder).catch((error: unknown) => {
    if (Object(error).code === 'ENOENT' && dirname(folder) !== folder) return null
    throw error
  })
  if (found === null) return requireWritable(dirname(folder))
  if (!found.isDirectory()) throw new Error(`${folder} is not a folder`)
  await rmdir(await mkdtemp(join(folder, WRITE_TEST)))
}
