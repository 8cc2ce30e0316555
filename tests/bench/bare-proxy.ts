import { obey } from './workshop'

/**
 * The control: the least that a proxy on Bun can do, with no key, no limit and no charge. `bare-proxy.ts UPSTREAM` passes every
 * request on to that address and its answer back, bytes as they are. It says `ready PORT`.
 */
const upstream = process.argv[2] ?? ''

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 60,
  async fetch(request) {
    const url = upstream + request.url.slice(request.url.indexOf('/', 8))
    const init =
      request.method === 'POST'
        ? { method: 'POST', headers: { 'content-type': 'application/json' }, body: await request.arrayBuffer() }
        : {}
    const answer = await fetch(url, init)
    const headers = { 'content-type': answer.headers.get('content-type') ?? 'application/octet-stream' }
    return new Response(answer.body, { status: answer.status, headers })
  },
})
process.stdout.write(`ready ${server.port}\n`)
await obey({})
