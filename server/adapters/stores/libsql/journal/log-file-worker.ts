import { serveLogFile } from './log-file-requests'
import type { LogReply, LogRequest } from './log-wire'

/** The thread of a log. */
declare const self: {
  onmessage: ((event: MessageEvent<LogRequest>) => void) | null
  postMessage(reply: LogReply): void
}

const receive = serveLogFile((reply) => self.postMessage(reply))
self.onmessage = ({ data }) => receive(data)
