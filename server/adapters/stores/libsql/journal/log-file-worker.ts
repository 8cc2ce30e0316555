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

declare const self: {
  onmessage: ((event: MessageEvent<LogRequest>) => void) | null
  postMessage(reply: LogReply): void
}

let file = -1
let path = ''
let log: LogAppender | null = null

self.onmessage = ({ data }) => {
  try {
    self.postMessage(answer(data))
  } catch (error) {
    self.postMessage({ op: 'failed', reason: reasonOf(error) })
  }
}

function answer(request: LogRequest): LogReply {
  if (request.op === 'open') {
    path = request.path
    log = open()
    return { op: 'done' }
  }
  if (!log) throw new Error('the log is not open')
  switch (request.op) {
    case 'append': {
      const line = encodeLine(request)
      return { op: 'append', result: log.append(line), bytes: line.length }
    }
    case 'empty':
      log.empty()
      return { op: 'done' }
    case 'ping':
      return { op: 'done' }
    case 'set_aside':
      if (existsSync(path)) copyFileSync(path, request.to)
      log.empty()
      return { op: 'done' }
    case 'close':
      closeSync(file)
      log = null
      return { op: 'done' }
  }
}

/** Opens the file and empties it, since all of it is applied. Syncs the folder, or a power loss could remove a new file. */
function open(): LogAppender {
  const fd = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600)
  file = fd
  const folder = openSync(dirname(path), constants.O_RDONLY)
  fsyncSync(folder)
  closeSync(folder)
  const appender = new LogAppender({
    write: (bytes, position) => writeSync(fd, bytes, 0, bytes.length, position),
    sync: () => fdatasyncSync(fd),
    truncate: (length) => ftruncateSync(fd, length),
    damage: (length) => damageOf(fd, length),
  })
  appender.empty()
  return appender
}

/** A restart would not find what was synced. More bytes than there should be are what a failed write left. */
function damageOf(fd: number, length: number): string | null {
  const { size, ino } = fstatSync(fd)
  if (size < length) return `${path} is ${size} bytes long where ${length} were written`
  const there = statSync(path, { throwIfNoEntry: false })
  if (!there) return `${path} was deleted`
  return there.ino === ino ? null : `another file stands in the place of ${path}`
}
