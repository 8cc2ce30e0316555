import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { reasonOf } from '../../../../core/result'
import { LogAppender } from './log-appender'
import { encodeLine } from './log-format'
import type { LogReply, LogRequest } from './log-wire'
import { ReserveFile } from './reserve-file'

/**
 * Serves one log to `LogFile`: returns a function that takes a request and answers at once. Its caller waits for the disk, so
 * that it has a thread of its own.
 */
export function serveLogFile(reply: (reply: LogReply) => void): (request: LogRequest) => void {
  const served = new ServedLog()
  return (request) => {
    try {
      reply(served.answer(request))
    } catch (error) {
      reply({ op: 'failed', reason: reasonOf(error) })
    }
  }
}

class ServedLog {
  private file = -1
  private path = ''
  private log: LogAppender | null = null
  private reserve = new ReserveFile('', 0)

  answer(request: LogRequest): LogReply {
    if (request.op === 'open') {
      this.path = request.path
      this.log = this.open()
      this.reserve = new ReserveFile(request.path.replace(/(\.log)?$/, '.reserve'), request.reserve)
      return { op: 'reserve', full: this.reserve.take() }
    }
    if (!this.log) throw new Error('the log is not open')
    switch (request.op) {
      case 'append': {
        const line = encodeLine(request)
        let result = this.log.append(line)
        // Most records written now are charges of calls whose upstreams have answered.
        if (result.kind === 'refused' && result.isFull && this.reserve.giveUp(result.reason))
          result = this.log.append(line)
        return { op: 'append', result, bytes: line.length, full: this.reserve.problem }
      }
      case 'empty':
        this.log.empty()
        return { op: 'done' }
      case 'reserve':
        return { op: 'reserve', full: this.reserve.take() }
      case 'ping':
        return { op: 'done' }
      case 'set_aside':
        if (existsSync(this.path)) copyFileSync(this.path, request.to)
        this.log.empty()
        return { op: 'done' }
      case 'close':
        closeSync(this.file)
        this.log = null
        return { op: 'done' }
    }
  }

  /** Opens the file and empties it, since all of it is applied. Syncs the folder, or a power loss could remove a new file. */
  private open(): LogAppender {
    const fd = openSync(this.path, constants.O_RDWR | constants.O_CREAT, 0o600)
    this.file = fd
    const folder = openSync(dirname(this.path), constants.O_RDONLY)
    fsyncSync(folder)
    closeSync(folder)
    const appender = new LogAppender({
      write: (bytes, position) => writeSync(fd, bytes, 0, bytes.length, position),
      sync: () => fdatasyncSync(fd),
      truncate: (length) => ftruncateSync(fd, length),
      damage: (length) => damageOf(this.path, fd, length),
    })
    appender.empty()
    return appender
  }
}

/** A restart would not find what was synced. More bytes than there should be are what a failed write left. */
function damageOf(path: string, fd: number, length: number): string | null {
  const { size, ino } = fstatSync(fd)
  if (size < length) return `${path} is ${size} bytes long where ${length} were written`
  const there = statSync(path, { throwIfNoEntry: false })
  if (!there) return `${path} was deleted`
  return there.ino === ino ? null : `another file stands in the place of ${path}`
}
