import { IncomingLinks } from '../../server/adapters/cluster/incoming-links'
import { HOP_HEADER } from '../../server/core/cluster/hop'
import { withWholeBody } from '../../server/core/cluster/whole-body'
import { HEADERS } from './hops'
import { obey } from './workshop'

/**
 * What `hop-proxy.ts` forwards to: it answers everything with 2 KB, over HTTP, over links of nodes, and at a port of its own over bare frames.
 * It says `ready PORT FRAMES_PORT`.
 */
const body = Buffer.alloc(2000, '{"title":"a result"}')
const ID_BYTES = 4
const answer = () => withWholeBody(new Response(body, { headers: HEADERS }), body)
const links = new IncomingLinks({ answer, onFault: (reason) => process.stderr.write(`${reason}\n`) })
const address = { hostname: '127.0.0.1', port: 0, idleTimeout: 60 }

const server = Bun.serve({
  ...address,
  websocket: links.websocket,
  fetch: (request, itself) =>
    request.headers.has(HOP_HEADER) && request.headers.has('upgrade') ? links.accept(request, itself) : answer(),
})
const frames = Bun.serve({
  ...address,
  websocket: {
    perMessageDeflate: false,
    // The number of the call, and the answer.
    message: (socket, message) =>
      void socket.sendBinary(Buffer.concat([Buffer.from(message.slice(0, ID_BYTES)), body])),
  },
  fetch: (request, itself) => new Response(null, { status: itself.upgrade(request) ? 200 : 426 }),
})
process.stdout.write(`ready ${server.port} ${frames.port}\n`)
await obey({})
