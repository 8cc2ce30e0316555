import { Forwarder } from '../../server/adapters/cluster/forwarder'
import { HopHeaders } from '../../server/adapters/cluster/hop-header'
import { HEADERS } from './hops'
import { obey } from './workshop'

/**
 * A node that only forwards, in each way that a hop could be made: `hop-proxy.ts WAY OWNER FRAMES`, with the two addresses of
 * `hop-owner.ts`. It says `ready PORT`. `link` is the forwarder itself. `frames` is the least that a program on Bun can do over one
 * connection: the path goes to the owner, its bytes come back, and nothing else. `fetch` sends each request over HTTP.
 */
const [, , way = 'link', owner = '', framesUrl = ''] = process.argv
const key = { id: 'bench', secret: new Uint8Array(32) }
const peer = { cell: 'main', nodeId: 'owner', url: owner, term: 1 }
const call = { address: '203.0.113.7', requestId: 'req_01JD0000000000000000000000' }

async function overFetch({ url, method, headers, signal }: Request): Promise<Response> {
  const path = url.slice(url.indexOf('/', 8))
  const answer = await fetch(owner + path, { method, headers, redirect: 'manual', decompress: false, signal })
  return new Response(answer.body, { status: answer.status, headers: answer.headers })
}

function overLink(): (request: Request) => Promise<Response> {
  const forwarder = new Forwarder({
    signer: new HopHeaders({ signing: key, accepted: [key] }),
    now: () => Date.now(),
    findOwner: async () => null,
    refuse: (_request, _call, { reason }) => new Response(reason, { status: 503 }),
  })
  return (request) => forwarder.forward(request, peer, call)
}

async function overFrames(): Promise<(request: Request) => Promise<Response>> {
  const waiting = new Map<number, (body: Uint8Array<ArrayBuffer>) => void>()
  const socket = new WebSocket(framesUrl)
  const opened = Promise.withResolvers<void>()
  socket.binaryType = 'arraybuffer'
  socket.onopen = () => opened.resolve()
  socket.onmessage = ({ data }) => {
    const id = new DataView(data).getUint32(0, true)
    waiting.get(id)?.(new Uint8Array(data, 4))
    waiting.delete(id)
  }
  await opened.promise
  let last = 0
  return ({ url }) =>
    new Promise((resolve) => {
      const id = ++last
      waiting.set(id, (body) => resolve(new Response(body, { headers: HEADERS })))
      const frame = Buffer.allocUnsafe(4 + url.length)
      frame.writeUInt32LE(id)
      frame.write(url, 4, 'latin1')
      socket.send(frame)
    })
}

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 60,
  fetch: way === 'fetch' ? overFetch : way === 'frames' ? await overFrames() : overLink(),
})
process.stdout.write(`ready ${server.port}\n`)
await obey({})
