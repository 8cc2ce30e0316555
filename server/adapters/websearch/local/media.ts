import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** A file to be served. */
export interface MediaFile {
  readonly body: Uint8Array<ArrayBuffer>
  readonly contentType: string
}

/** Reads icons by file name for `/media/lucide/<name>.svg`. Any name but `[a-z0-9-]+.svg` is null, as is a missing file. */
export function localMedia(lucideIconsDir: string): (name: string) => Promise<MediaFile | null> {
  return async (name) => {
    if (!/^[a-z0-9-]{1,100}\.svg$/.test(name)) return null
    try {
      return { body: new Uint8Array(await readFile(join(lucideIconsDir, name))), contentType: 'image/svg+xml' }
    } catch {
      return null
    }
  }
}
