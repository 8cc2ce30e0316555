import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'

/**
 * Remembers the content that a step last processed, so that a restart can skip it. Compares content instead of modification times,
 * which a fresh clone or a checkout changes arbitrarily.
 */
export class Stamp {
  private readonly file: string

  constructor(file: string) {
    this.file = file
  }

  async matches(content: string): Promise<boolean> {
    return (await readFile(this.file, 'utf8').catch(() => null)) === content
  }

  /** Call before the step, so that an interrupted step is repeated. */
  async clear(): Promise<void> {
    await rm(this.file, { force: true })
  }

  async write(content: string): Promise<void> {
    await mkdir(dirname(this.file), { recursive: true })
    await writeFile(this.file, content)
  }
}

/** A hash of the names and contents of files in `root`, and of `also`. Missing files count as missing. */
export async function contentHash(root: string, files: readonly string[], also = ''): Promise<string> {
  const contents = await Promise.all(files.map((file) => readFile(join(root, file)).catch(() => null)))
  const hash = createHash('sha256').update(`${also}\n`)
  for (const [index, file] of files.entries()) {
    const content = contents[index]
    hash.update(content ? `${file}\0${content.length}\0` : `${file}\0missing\0`)
    if (content) hash.update(content)
  }
  return hash.digest('hex')
}

/** The sorted paths, relative to `root`, of all files in `root/folder`, without the folders in `skip`. */
export async function filesBelow(root: string, folder: string, skip: readonly string[]): Promise<string[]> {
  const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .filter((path) => !skip.some((skipped) => path.startsWith(`${skipped}/`)))
    .sort()
}
