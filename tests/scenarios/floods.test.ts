import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { listen } from '../../server/listen'
import { RawConnection } from '../support/fuzz/raw-connection'
import { reconcile } from '../support/reconcile'
import {
  control,
  dataFolder,
  FREES_MEMORY,
  removeFolder,
  type ServerProcess,
  signUp,
  startServer,
} from '../support/servers/server-process'

const EMAIL = 'ada@example.com'
const SEARCH = '/apis/v1/websearch/images/search?q=credit%20card&count=1'
const CLIENTS = 8
const CALLS = 200
const FLOOD = 200
const MIB = 1024 * 1024
/** How much longer the same calls may take during the flood. Generous: two cores serve everything, this test included. */
const MAX_TIMES_SLOWER = 5
const SPARE_MS = 10_000
/** Bun drops a connection whose request has no end of head after 10 s, in steps of 4 s; both longer than a test should wait for. */
const MAX_OPEN_MS = 20_000

describe(`${FLOOD} connections that send a byte at a time and ${FLOOD} that send nothing`, () => {
  let folder = ''
  let server: ServerProcess
  let secret = ''
  const flood: RawConnection[] = []
  let opened = 0
  let trickle: Timer

  beforeAll(async () => {
    folder = await dataFolder()
    server = await startServer(folder, FREES_MEMORY)
    const owner = await signUp(server.url, EMAIL)
    await control(folder, `/accounts/${owner.id}/limits`, { limits: { rpm: 1e8, tpm: 1e8, concurrency: 1000 } })
    await control(folder, `/accounts/${owner.id}/grants`, { usd: '100' })
    secret = (await owner.api('/api/keys', { name: 'load' })).secret
  })
  afterAll(async () => {
    clearInterval(trickle)
    for (const connection of flood) connection.close()
    await server.kill('SIGKILL')
    await removeFolder(folder)
  })

  /** Milliseconds that the same calls take; every one must be served. */
  async function serveAll(): Promise<number> {
    let left = CALLS
    const started = performance.now()
    const client = async () => {
      while (left-- > 0) {
        const answer = await fetch(server.url + SEARCH, { headers: { authorization: `Bearer ${secret}` } })
        await answer.arrayBuffer()
        expect(answer.status).toBe(200)
      }
    }
    await Promise.all(Array.from({ length: CLIENTS }, client))
    return performance.now() - started
  }

  test('callers are served as usual', async () => {
    await serveAll()
    const quiet = await serveAll()
    opened = performance.now()
    for (let i = 0; i < FLOOD * 2; i++) flood.push(new RawConnection(Number(new URL(server.url).port)))
    await Promise.all(flood.map((connection) => connection.open()))
    const head = `GET ${SEARCH} HTTP/1.1\r\nHost: localhost\r\nX-Slow: ${'a'.repeat(5000)}`
    let at = 0
    const sendByte = () => {
      for (const connection of flood.slice(0, FLOOD)) connection.send(head[at] ?? 'a')
      at++
    }
    trickle = setInterval(sendByte, 20)
    const flooded = await serveAll()
    // They go on so until they are closed, at the cost of a fiftieth.
    clearInterval(trickle)
    trickle = setInterval(sendByte, 1000)
    expect(flood.filter((connection) => connection.isOpen)).toHaveLength(FLOOD * 2)
    console.log(`${CALLS} calls: ${Math.round(quiet)} ms quiet, ${Math.round(flooded)} ms under the flood`)
    expect(flooded).toBeLessThan(quiet * MAX_TIMES_SLOWER + SPARE_MS)
  })

  test('a thousand connections that come and go, with whole and half requests, leave nothing behind', async () => {
    const port = Number(new URL(server.url).port)
    for (let round = 0; round < 20; round++)
      await Promise.all(
        Array.from({ length: 50 }, async (_, i) => {
          const connection = new RawConnection(port)
          await connection.open()
          if (i % 2 === 0)
            connection.send(`POST ${SEARCH} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc`)
          connection.close()
        }),
      )
    expect((await fetch(`${server.url}/ready`)).status).toBe(200)
    await serveAll()
  })

  test.each([
    ['a route that is none', 'POST /v1/nothing', 404],
    ['a GET', `GET ${SEARCH}`, 402],
    ['a body over the limit', 'POST /apis/v1/websearch/llm/context', 413],
    ['sign-in', 'POST /api/auth/sign-in/email', 413],
  ] as const)('a hundred mebibytes of unwanted data use no memory: %s', async (_, line, status) => {
    const before = await rssMib(server.pid)
    expect(await swamp(Number(new URL(server.url).port), line)).toStartWith(`HTTP/1.1 ${status} `)
    expect(await rssMib(server.pid)).toBeLessThan(before + 60)
  })

  test('each of them is closed in the end, without an answer', async () => {
    for (const connection of flood) expect(await connection.read('GET', MAX_OPEN_MS)).toBe('closed')
    clearInterval(trickle)
    console.log(`all closed after ${Math.round(performance.now() - opened)} ms`)
  })

  test('only what was served was charged', async () => {
    expect(await server.kill('SIGTERM')).toBe(0)
    const { charges, problems } = await reconcile(join(folder, 'gateway.db'))
    expect(problems).toEqual([])
    expect(charges).toBe(CALLS * 4)
  })
})

async function rssMib(pid: number): Promise<number> {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}

/**
 * Sends 100 MiB behind a head that promises more, whatever is answered, or as much as is taken before the connection is closed;
 * resolves to the answer.
 */
async function swamp(port: number, line: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  const answer = new Promise<string>((resolve) => socket.once('data', (chunk) => resolve(chunk.toString())))
  socket.on('error', () => undefined) // what is written after the answer meets a closed connection
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.write(
    `${line} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${200 * MIB}\r\n\r\n`,
  )
  for (let sent = 0; sent < 100 && socket.writable; sent++)
    await Promise.race([closed, new Promise((resolve) => socket.write(Buffer.alloc(MIB, 'a'), resolve))])
  const begun = await answer
  socket.destroy()
  return begun
}

/** Begun at once, so that both waits pass at the same time. */
const bodyCut = (async () => {
  const cut = Promise.withResolvers<string>()
  const web = listen(
    { host: '127.0.0.1', port: 0, idleSeconds: 1 },
    async (request) => {
      await request.text().catch((error: unknown) => cut.resolve(String(error)))
      return new Response()
    },
    () => undefined,
    () => undefined,
  )
  const connection = new RawConnection(web.port)
  await connection.open()
  connection.send('POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc')
  const end = await connection.read('POST', MAX_OPEN_MS)
  const seen = end === 'closed' ? await cut.promise : end
  await web.stop(0)
  return seen
})()

test('a body that stops arriving is cut by the idle timeout, and its reader learns it', async () => {
  expect(await bodyCut).toContain('closed')
})
