import { finalizeStatements } from '../file/finalize-statements'
import type { WorkerReply, WorkerRequest } from '../worker-wire'
import { serveDatabase } from './database-requests'
import type { Packed } from './worker-message'

/** The thread of a connection. */
declare const self: {
  onmessage: ((event: MessageEvent<Packed<WorkerRequest>>) => void) | null
  postMessage(reply: Packed<WorkerReply>): void
}

const receive = serveDatabase((reply) => self.postMessage(reply), finalizeStatements)
self.onmessage = ({ data }) => receive(data)
