import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../support/servers/free-port'
import { HOST, NODE_PROXIES, type ProxyProcess, startProxy } from '../support/servers/proxies'
import { openTcpProxy } from '../support/servers/tcp-proxy'
import { readUntil, until } from '../support/until'

/** A node as a balancer sees it: it says who it is. */
async function openNode(name: string) {
  const state = { served: 0, onCall: null as (() => void) | null }
  const server = Bun.serve({
    ...{ hostname: '127.0.0.1', port: 0, idleTimeout: 60 },
    async fetch(request) {
      const { pathname } = new URL(request.url)
      if (pathname === '/ready') return new Response()
      state.served++
      state.onCall?.()
      if (pathname === '/paid')
        return new Response(null, { status: 402, headers: { 'www-authenticate': 'x'.repeat(12_000) } })
      if (pathname === '/events') return new Response(endless(), { headers: { 'content-type': 'text/event-stream' } })
      return Response.json({ name, from: request.headers.get('x-forwarded-for'), body: await request.text() })
    },
  })
  return Object.assign(state, { server, wire: await openTcpProxy(server.port ?? 0) })
}

function endless(): ReadableStream {
  return new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode('data: 1\n\n')) })
}

/** Issue 23: a balancer saves most hops, and sends no request twice (ADR 39). */
for (const [name, start] of Object.entries(NODE_PROXIES))
  describe.skipIf(!Bun.which(name))(`two nodes behind ${name}`, () => {
    let folder: string
    let nodes: Awaited<ReturnType<typeof openNode>>[]
    let proxy: ProxyProcess
    let url: string
    const call = (key: number, init: RequestInit = {}, path = '/v1/models') =>
      fetch(url + path, {
        ...init,
        headers: { host: HOST, authorization: `Bearer gwk_${key}`, 'x-forwarded-for': '6.6.6.6' },
      })
    const portOf = (at: number) => Number(new URL(nodes[at]?.wire.url ?? '').port)

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), `nodes-${name}-`))
      nodes = [await openNode('a'), await openNode('b')]
      const port = await freePort()
      url = `http://127.0.0.1:${port}`
      const place = { folder, gatewayPort: 0, port, plainPort: await freePort(), tls: null }
      proxy = startProxy(await start(place, [portOf(0), portOf(1)]), folder)
      await until(() =>
        call(0).then(
          ({ status }) => status === 200,
          () => false,
        ),
      )
    })
    afterAll(async () => {
      proxy?.kill()
      await proxy?.exited
      for (const { server, wire } of nodes) {
        await wire.close()
        await server.stop(true)
      }
      await rm(folder, { recursive: true, force: true })
    })

    test('a key always reaches the same node, and keys are spread over both', async () => {
      const seen = new Map<number, Set<string>>()
      for (let round = 0; round < 3; round++)
        for (let key = 0; key < 12; key++) {
          const { name, from } = await (await call(key)).json()
          expect(from).toBe('127.0.0.1')
          seen.set(key, (seen.get(key) ?? new Set()).add(name))
        }
      expect([...seen.values()].every(({ size }) => size === 1)).toBe(true)
      expect(new Set([...seen.values()].flatMap((names) => [...names]))).toEqual(new Set(['a', 'b']))
    })

    test('an event of a stream arrives while the stream goes on', async () => {
      const leaving = new AbortController()
      const reader = (await call(1, { signal: leaving.signal }, '/events')).body?.getReader()
      expect(await readUntil(reader, (text) => text.includes('data: 1'))).toContain('data: 1')
      leaving.abort()
    })

    test('the headers of a payment challenge pass', async () => {
      const { status, headers } = await call(1, {}, '/paid')
      expect([status, headers.get('www-authenticate')?.length]).toEqual([402, 12_000])
    })

    test('a request that a node got is not sent to the other one when the node breaks off', async () => {
      for (const node of nodes) node.onCall = () => node.wire.cut()
      const before = nodes.reduce((sum, { served }) => sum + served, 0)
      // HAProxy closes a kept connection instead of answering, and Bun would send the GET again itself.
      for (const init of [{}, { method: 'POST', body: '{"charged":true}' }])
        expect((await call(1, { ...init, keepalive: false })).status).toBeGreaterThanOrEqual(500)
      expect(nodes.reduce((sum, { served }) => sum + served, 0) - before).toBe(2)
      for (const node of nodes) node.onCall = null
      for (let key = 0; key < 12; key++) await until(async () => (await call(key)).status === 200)
    })

    test('without one of the nodes the other one serves every key', async () => {
      await nodes[1]?.wire.close()
      const statuses = []
      for (let key = 0; key < 12; key++) statuses.push((await call(key)).status)
      const lost = statuses.filter((status) => status !== 200).length
      // nginx notices only by a call that fails.
      expect(lost).toBeLessThanOrEqual(name === 'nginx' ? 1 : 0)
    })
  })
