import { Agent, request as nodeRequest } from 'node:http'
import { Forwarder } from '../../server/adapters/cluster/forwarder'
import { HopHeaders } from '../../server/adapters/cluster/hop-header'
import { obey } from './workshop'

/**
 * The least that a node does with a request of another node's account, in each way that a hop could be made: `hop-proxy.ts WAY OWNER`. It says
 * `ready PORT`. `fetch` and `node` pass no more than the answer; `own` is the forwarder itself.
 */
const [, , way = 'own', owner = ''] = process.argv
const agent = new Agent({ keepAlive: true, maxSockets: 4096 })
const key = { id: 'bench', secret: new Uint8Array(32) }
const signer = new HopHeaders({ signing: key, accepted: [key] })
const now = () => Date.now()
const peer = { cell: 'main', nodeId: 'owner', url: owner, term: 1 }
const forwarder = new Forwarder({
  signer,
  now,
  findOwner: async () => null,
  refuse: (_request, _call, { reason }) => new Response(reason, { status: 503 }),
})

const WAYS: Readonly<Record<string, (request: Request) => Promise<Response>>> = {
  async fetch(request) {
    const path = request.url.slice(request.url.indexOf('/', 8))
    const { method, headers, signal } = request
    headers.set(
      'x-gateway-hop',
      signer.sign(
        { method, target: path, cell: 'main', term: 1, address: '203.0.113.7', requestId: 'req_1', deadlineMs: 1000 },
        now(),
      ),
    )
    const answer = await fetch(owner + path, { method, headers, redirect: 'manual', decompress: false, signal })
    return new Response(answer.body, { status: answer.status, headers: answer.headers })
  },
  node(request) {
    const path = request.url.slice(request.url.indexOf('/', 8))
    const { method } = request
    const hop = signer.sign(
      { method, target: path, cell: 'main', term: 1, address: '203.0.113.7', requestId: 'req_1', deadlineMs: 1000 },
      now(),
    )
    const { promise, resolve, reject } = Promise.withResolvers<Response>()
    const sent = nodeRequest(
      owner + path,
      { agent, method, headers: { ...request.headers.toJSON(), 'x-gateway-hop': hop } },
      (answer) => {
        const parts: Buffer[] = []
        answer.on('data', (part: Buffer) => parts.push(part))
        answer.on('end', () =>
          resolve(
            new Response(Buffer.concat(parts), {
              status: answer.statusCode ?? 502,
              headers: { 'content-type': answer.headers['content-type'] ?? '' },
            }),
          ),
        )
      },
    )
    sent.on('error', reject)
    sent.end()
    return promise
  },
  own: (request) =>
    forwarder.forward(request, peer, { address: '203.0.113.7', requestId: 'req_01JD0000000000000000000000' }),
}

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 60,
  fetch: WAYS[way] ?? (() => new Response('?')),
})
process.stdout.write(`ready ${server.port}\n`)
await obey({})
