import { existsSync, readFileSync, statSync } from 'node:fs'
import { isJson, parsedJson } from '../../../../../core/json'
import { replaceDurably } from '../../../../backup/files'

/** Which file it is. A file that is copied or made anew is another one. `born` is null where the file system does not know it. */
interface FileIdentity {
  readonly inode: number
  readonly born: number | null
}

interface Mark {
  readonly epoch: number
  readonly database: FileIdentity
  /** The mark itself: where it was copied with the database, inodes say nothing. */
  readonly mark: FileIdentity
}

/** `new`: this folder never served the data. `other`: it served data that is newer than this, or another file. */
type Origin = 'same' | 'new' | 'other'

/**
 * A small file next to a database file (`.epoch`) that says which data this folder served last. An older copy that is put in the place of
 * the database has a lower epoch, or is another file.
 */
export class EpochMark {
  private readonly database: string
  private readonly path: string

  constructor(database: string) {
    this.database = database
    this.path = `${database}.epoch`
  }

  /** Where the data comes from. `isMarked`: a gateway that leaves marks has opened it. Call before the epoch is raised. */
  originOf(epoch: number, isMarked: boolean): Origin {
    const found = this.read()
    if (found === null) return isMarked ? 'new' : 'same'
    const { database, mark } = found
    if (epoch < found.epoch) return 'other'
    const isOriginal = isSame(mark, identityOf(statSync(this.path)))
    return isOriginal && !isSame(database, identityOf(statSync(this.database))) ? 'other' : 'same'
  }

  /** Durable when it returns. */
  write(epoch: number): void {
    replaceDurably(this.path, (own) => {
      const mark: Mark = { epoch, database: identityOf(statSync(this.database)), mark: identityOf(own) }
      return `${JSON.stringify(mark)}\n`
    })
  }

  private read(): Mark | null {
    const found = existsSync(this.path) ? parsedJson(readFileSync(this.path, 'utf8')) : null
    return isJson(found) && typeof found['epoch'] === 'number' ? (found as unknown as Mark) : null
  }
}

/** Where the time of birth is not known, the time of the last change is given for it. */
function identityOf({ ino, birthtimeMs, ctimeMs }: ReturnType<typeof statSync> & object): FileIdentity {
  return { inode: Number(ino), born: birthtimeMs === ctimeMs ? null : Number(birthtimeMs) }
}

function isSame(one: FileIdentity, other: FileIdentity): boolean {
  return one.inode === other.inode && (one.born === null || other.born === null || one.born === other.born)
}
