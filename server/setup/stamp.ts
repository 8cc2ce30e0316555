import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'

/**
 * Remembers the content a step last worked on, so that a restart can skip it. Judged by content and never by
 * modification times, which a fresh clone or a checkout of another branch sets at will.
 */
export class Stamp {
  readonly #file: string

  constructor(file: string) {
    this.#file = file
  }

  async matches(content: string): Promise<boolean> {
    return (await readFile(this.#file, 'utf8').catch(() => null)) === content
  }

  /** To be called before the work, so that work cut short is done again. */
  async clear(): Promise<void> {
    await rm(this.#file, { force: true })
  }

  async write(content: string): Promise<void> {
    await mkdir(dirname(this.#file), { recursive: true })
    await writeFile(this.#file, content)
  }
}

/** One hash over the names and bytes of these files below `root`, and `also`; a file that is missing counts as such. */
export async function contentHash(root: string, files: readonly string[], also = ''): Promise<string> {
  const contents = await Promise.all(files.map((file) => readFile(join(root, file)).catch(() => null)))
  const hash = createHash('sha256').update(`${also}\n`)
  for (const [place, file] of files.entries()) {
    const content = contents[place]
    hash.update(content ? `${file}\0${content.length}\0` : `${file}\0missing\0`)
    if (content) hash.update(content)
  }
  return hash.digest('hex')
}

/** Every file below `root/folder` as a sorted path from `root`, without the folders named in `skip`. */
export async function filesBelow(root: string, folder: string, skip: readonly string[]): Promise<string[]> {
  const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .filter((path) => !skip.some((skipped) => path.startsWith(`${skipped}/`)))
    .sort()
}
