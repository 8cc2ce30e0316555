import { mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ARCHIVE_MANIFEST, ArchiveProblem } from '../../core/archive/archive'
import { syncFile } from './files'
import { answered, openS3, type S3Access } from './s3-target'

/** A location for archives: a folder with a folder per archive, or a bucket of an S3-compatible store. */
export interface ArchivePlace {
  /** As the operator wrote it. */
  readonly location: string
  /** The manifest of a complete archive; null if there is none. */
  manifest(name: string): Promise<string | null>
  /** An empty folder of this machine for the files of a new archive. */
  draft(name: string): Promise<string>
  /** Makes a draft an archive, durably: all of it or nothing, its manifest last. */
  publish(name: string, draft: string): Promise<void>
  read(name: string, file: string): ReadableStream<Uint8Array>
}

export class ArchiveFolder implements ArchivePlace {
  readonly location: string

  constructor(folder: string) {
    this.location = folder
  }

  manifest(name: string): Promise<string | null> {
    return readFile(join(this.location, name, ARCHIVE_MANIFEST), 'utf8').catch((error: unknown) => {
      if (Object(error).code === 'ENOENT') return null
      throw error
    })
  }

  draft(name: string): Promise<string> {
    return emptyFolder(join(this.location, `${name}.partial`))
  }

  async publish(name: string, draft: string): Promise<void> {
    for (const file of await readdir(draft)) await syncFile(join(draft, file))
    await syncFile(draft)
    await rename(draft, join(this.location, name))
    await syncFile(this.location)
  }

  read(name: string, file: string): ReadableStream<Uint8Array> {
    return Bun.file(join(this.location, name, file)).stream()
  }
}

/** Archives in a bucket, under a prefix: `PREFIX/NAME/entries.csv.zst`, and the manifest last. */
export class ArchiveBucket implements ArchivePlace {
  readonly location: string
  private readonly client: Bun.S3Client
  private readonly prefix: string
  /** Where an archive is put together before it is sent. */
  private readonly workFolder: string

  constructor(location: { bucket: string; prefix: string }, access: S3Access, workFolder: string) {
    ;({ location: this.location, prefix: this.prefix, client: this.client } = openS3(location, access))
    this.workFolder = workFolder
  }

  async manifest(name: string): Promise<string | null> {
    const file = this.client.file(this.key(name, ARCHIVE_MANIFEST))
    return (await answered(this.location, file.exists())) ? answered(this.location, file.text()) : null
  }

  draft(name: string): Promise<string> {
    return emptyFolder(join(this.workFolder, name))
  }

  async publish(name: string, draft: string): Promise<void> {
    const files = (await readdir(draft)).sort((a, b) => Number(a === ARCHIVE_MANIFEST) - Number(b === ARCHIVE_MANIFEST))
    for (const file of files) {
      const key = this.key(name, file)
      await answered(this.location, this.client.write(key, Bun.file(join(draft, file))))
      const { size } = await answered(this.location, this.client.stat(key))
      if (size !== (await stat(join(draft, file))).size)
        throw new ArchiveProblem(`${this.location} has ${size} bytes of ${key}, which has more or fewer`)
    }
    await rm(draft, { recursive: true, force: true })
  }

  read(name: string, file: string): ReadableStream<Uint8Array> {
    return this.client.file(this.key(name, file)).stream() as ReadableStream<Uint8Array>
  }

  private key(name: string, file: string): string {
    return `${this.prefix}${name}/${file}`
  }
}

/** The remains of an archive that was killed are useless. */
async function emptyFolder(folder: string): Promise<string> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true, mode: 0o700 })
  return folder
}
