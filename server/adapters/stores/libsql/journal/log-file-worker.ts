import { closeSync, constants, fdatasyncSync, fsyncSync, ftruncateSync, openSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { LogAppender } from './log-appender'
import { encodeLine } from './log-format'
import type { LogReply, LogRequest } from './log-wire'

declare const self: {
  onmessage: ((event: MessageEvent<LogRequest>) => void) | null
  postMessage(reply: LogReply): void
}

let file = -1
let log: LogAppender | null = null

self.onmessage = ({ data }) => {
  try {
    self.postMessage(answer(data))
  } catch (error) {
    self.postMessage({ op: 'failed', reason: error instanceof Error ? error.message : String(error) })
  }
}

function answer(request: LogRequest): LogReply {
  if (request.op === 'open') {
    log = open(request.path)
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
    case 'close':
      closeSync(file)
      return { op: 'done' }
  }
}

/** Opens the file and empties it, since all of it is applied. Syncs the folder, or a power loss could remove a new file. */
function open(path: string): LogAppender {
  const fd = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600)
  file = fd
  const folder = openSync(dirname(path), constants.O_RDONLY)
  fsyncSync(folder)
  closeSync(folder)
  const appender = new LogAppender({
    write: (bytes, position) => writeSync(fd, bytes, 0, bytes.length, position),
    sync: () => fdatasyncSync(fd),
    truncate: (length) => ftruncateSync(fd, length),
  })
  appender.empty()
  return appender
}
