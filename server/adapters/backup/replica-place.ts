import { existsSync, readFileSync, statSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BackupProblem } from '../../core/backup/target'
import { isJson, parsedJson } from '../../core/json'
import { replaceDurably } from './files'
import { bucketOf, type TargetOptions } from './open-target'
import { answered, openS3 } from './s3-target'

/** In the place and in the data folder that writes it, with the same id. */
const MARK = 'gateway.json'
const OWN = 'replica.json'

/** Another data folder writes there. Waiting does not change that. */
export class ForeignPlace extends BackupProblem {}

/** The place of a continuous copy, which one data folder alone may write: two would mix their histories. */
export class ReplicaPlace {
  private readonly replica: string
  private readonly dataDir: string
  private readonly mark: { read(): Promise<string | null>; write(text: string): Promise<unknown> }

  constructor(replica: string, dataDir: string, access: TargetOptions['access']) {
    this.replica = replica
    this.dataDir = dataDir
    this.mark = replica.startsWith('s3:') ? bucketMark(replica, access) : folderMark(fileURLToPath(replica))
  }

  /** Marks the place as that of this data folder. Throws `ForeignPlace` if it is that of another one. */
  async claim(): Promise<void> {
    const own = this.ownId()
    const found = await this.mark.read()
    if (found === null) await this.mark.write(`${JSON.stringify({ folder: own })}\n`)
    // Again, for two that come at once.
    const mark = found ?? (await this.mark.read())
    if (idIn(mark) !== own)
      throw new ForeignPlace(
        `LITESTREAM_REPLICA=${this.replica} has the copy of another data folder: name a place of its own for ${this.dataDir}. If nothing writes there any more, delete ${MARK} in it`,
      )
  }

  /** Another one in a copy of the folder. */
  private ownId(): string {
    const path = join(this.dataDir, OWN)
    const text = existsSync(path) ? readFileSync(path, 'utf8') : null
    const id = idIn(text)
    if (id !== null && Object(parsedJson(text ?? ''))['inode'] === statSync(path).ino) return id
    const made = crypto.randomUUID()
    replaceDurably(path, ({ ino }) => `${JSON.stringify({ folder: made, inode: ino })}\n`)
    return made
  }
}

function idIn(text: string | null): string | null {
  const found = parsedJson(text ?? '')
  return isJson(found) && typeof found['folder'] === 'string' ? found['folder'] : null
}

function folderMark(folder: string) {
  const path = join(folder, MARK)
  return {
    read: () =>
      readFile(path, 'utf8').catch((error: unknown) => {
        if (Object(error).code === 'ENOENT') return null
        throw error
      }),
    async write(text: string) {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      replaceDurably(path, () => text)
    },
  }
}

function bucketMark(replica: string, access: TargetOptions['access']) {
  const place = bucketOf(replica, { access })
  const { location, prefix, client } = openS3(place.bucket, place.access)
  const key = `${prefix}${MARK}`
  return {
    async read() {
      const file = client.file(key)
      return (await answered(location, file.exists())) ? answered(location, file.text()) : null
    },
    write: (text: string) => answered(location, client.write(key, text)),
  }
}
