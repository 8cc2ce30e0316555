import { mkdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type CopyManifest,
  copyTime,
  isCopiedFile,
  isCopyName,
  MANIFEST,
  manifestText,
  parseManifest,
} from '../../core/backup/copy'
import { BackupProblem, type BackupTarget, type CopyDraft } from '../../core/backup/target'
import { DAY_MS } from '../../core/clock'
import { reasonOf } from '../../core/result'
import { syncFile, writeFlushed } from './files'

/** How to sign in to an S3-compatible store. */
export interface S3Access {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken: string | null
  /** Null for Amazon's. */
  readonly endpoint: string | null
  readonly region: string | null
}

/** Parts of an upload; a store takes 10,000 of them, so a file may have 160 GB. */
const PART_BYTES = 16 * 1024 * 1024

/** An upload that is this old is not going on. */
const ABANDONED_MS = DAY_MS

/** Written and deleted, to see whether a copy could be. */
const WRITE_TEST = '.gateway-write-test'

/** Copies in a bucket, under a prefix: `PREFIX/NAME/gateway.db`, and the manifest last. */
export class S3Target implements BackupTarget {
  readonly location: string
  private readonly client: Bun.S3Client
  private readonly prefix: string
  /** Where a copy is put together before it is sent. */
  private readonly workFolder: string

  constructor(location: { bucket: string; prefix: string }, access: S3Access, workFolder: string) {
    ;({ location: this.location, prefix: this.prefix, client: this.client } = openS3(location, access))
    this.workFolder = workFolder
  }

  async writeProblem(): Promise<string | null> {
    const key = `${this.prefix}${WRITE_TEST}`
    try {
      await this.answered(this.client.write(key, 'The gateway may write here.\n'))
      await this.answered(this.client.delete(key))
      return null
    } catch (error) {
      return reasonOf(error)
    }
  }

  async copies(): Promise<readonly CopyManifest[]> {
    const manifests: CopyManifest[] = []
    for (const [name, files] of await this.stored()) {
      if (!files.has(MANIFEST)) continue
      const text = await this.answered(this.client.file(this.key(name, MANIFEST)).text())
      const manifest = parseManifest(text)
      if (manifest?.name === name) manifests.push(manifest)
    }
    return manifests.sort((a, b) => a.takenAt - b.takenAt)
  }

  async draft(name: string): Promise<CopyDraft> {
    // Asked before the work begins, because a wrong key or bucket is the most frequent mistake.
    await this.removeAbandoned(copyTime(name))
    const folder = join(this.workFolder, name)
    await rm(this.workFolder, { recursive: true, force: true })
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const sent: string[] = []
    let isComplete = false
    return {
      folder,
      publish: async (manifest, onProgress) => {
        let bytes = 0
        for (const file of manifest.files) {
          sent.push(this.key(name, file.name))
          await this.send(join(folder, file.name), this.key(name, file.name), file.bytes)
          bytes += file.bytes
          onProgress(bytes)
        }
        await this.answered(this.client.write(this.key(name, MANIFEST), manifestText(manifest)))
        isComplete = true
      },
      discard: async () => {
        await rm(this.workFolder, { recursive: true, force: true })
        if (!isComplete) for (const key of sent) await this.client.delete(key).catch(() => undefined)
      },
    }
  }

  async fetch({ name }: CopyManifest, file: string, to: string): Promise<void> {
    const source = this.client.file(this.key(name, file))
    await this.answered(writeFlushed(to, () => Bun.write(to, source, { mode: 0o600 })))
    await syncFile(to)
  }

  async remove({ name, files }: CopyManifest): Promise<void> {
    for (const file of [MANIFEST, ...files.map((one) => one.name)])
      await this.answered(this.client.delete(this.key(name, file)))
  }

  private async send(path: string, key: string, bytes: number): Promise<void> {
    await this.answered(this.client.write(key, Bun.file(path)))
    const { size } = await this.answered(this.client.stat(key))
    if (size !== bytes || (await stat(path)).size !== bytes)
      throw new BackupProblem(`${this.location} has ${size} bytes of ${key}, which has ${bytes}`)
  }

  /** The files of all copies, complete or not, by name. */
  private async stored(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
    const stored = new Map<string, Set<string>>()
    let continuationToken: string | undefined
    do {
      const page = await this.answered(
        this.client.list({ prefix: this.prefix, ...(continuationToken !== undefined && { continuationToken }) }),
      )
      for (const { key } of page.contents ?? []) {
        const [name = '', file = '', more] = key.slice(this.prefix.length).split('/')
        if (isCopyName(name) && more === undefined) stored.set(name, (stored.get(name) ?? new Set()).add(file))
      }
      continuationToken = page.isTruncated ? page.nextContinuationToken : undefined
    } while (continuationToken !== undefined)
    return stored
  }

  /** Files of copies that were never completed, because their process was killed. */
  private async removeAbandoned(now: number): Promise<void> {
    for (const [name, files] of await this.stored()) {
      if (files.has(MANIFEST) || now - copyTime(name) < ABANDONED_MS) continue
      for (const file of files) if (isCopiedFile(file)) await this.answered(this.client.delete(this.key(name, file)))
    }
  }

  private key(name: string, file: string): string {
    return `${this.prefix}${name}/${file}`
  }

  private answered<T>(work: Promise<T>): Promise<T> {
    return answered(this.location, work)
  }
}

/** A bucket, and what the keys below a prefix begin with. */
export function openS3({ bucket, prefix }: { readonly bucket: string; readonly prefix: string }, access: S3Access) {
  const { accessKeyId, secretAccessKey, sessionToken, endpoint, region } = access
  return {
    location: `s3://${bucket}${prefix === '' ? '' : `/${prefix}`}`,
    prefix: prefix === '' ? '' : `${prefix}/`,
    client: new Bun.S3Client({
      accessKeyId,
      secretAccessKey,
      bucket,
      partSize: PART_BYTES,
      queueSize: 2,
      retry: 3,
      ...(sessionToken !== null && { sessionToken }),
      ...(endpoint !== null && { endpoint }),
      ...(region !== null && { region }),
    }),
  }
}

/** Failures name the location and what the store said; never a key. */
export async function answered<T>(location: string, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    const { code, message } = Object(error) as { code?: unknown; message?: unknown }
    throw new BackupProblem(`${location} failed: ${message ?? error} (${code ?? 'no code'})`, { cause: error })
  }
}
