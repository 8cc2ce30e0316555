import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Socket } from 'bun'
import { FrameDecoder } from '../../../server/adapters/workers/frames'
import { connectTo } from '../../../server/adapters/workers/primary-address'
import { Session, type Wire } from '../../../server/adapters/workers/session'
import { LOCALHOST_CERTIFICATE } from '../../support/servers/localhost-certificate'
import { until } from '../../support/until'

/** What a socket needs: how to reach its session. */
interface Ends {
  session: Session
  wire: Wire
}

const wireOf = (socket: Socket<Ends | null>): Wire => ({
  write: (bytes) => socket.write(bytes),
  end: () => socket.terminate(),
})

/** Handlers that attach a socket to its session: with TLS, once the other side is proved. */
const handlers = (attached: (wire: Wire) => Ends, isEncrypted: boolean) => {
  const ready = (socket: Socket<Ends | null>) => {
    socket.data = attached(wireOf(socket))
  }
  return {
    open: (socket: Socket<Ends | null>) => (isEncrypted ? undefined : ready(socket)),
    handshake: (socket: Socket<Ends | null>, isProved: boolean) => (isProved ? ready(socket) : undefined),
    data: ({ data }: Socket<Ends | null>, chunk: Buffer) => data?.session.receive(data.wire, chunk),
    drain: ({ data }: Socket<Ends | null>) => data?.session.drained(data.wire),
    close: ({ data }: Socket<Ends | null>) => data?.session.closed(data.wire),
  }
}
type Handlers = ReturnType<typeof handlers>

const BURST = 1000
const ROUNDS = 12 * BURST

/** Where the primary listens, and how the worker connects there. */
interface Transport {
  readonly isEncrypted: boolean
  /** Bytes of a request. A burst must be more than the kernel takes; with 300 requests of the one before it, less than a session may queue. */
  readonly size: number
  listen(socket: Handlers): { stop(force: boolean): void }
  connect(socket: Handlers): Promise<Socket<Ends | null>>
}

/** Large bursts, partial writes and broken connections: each request has one answer. */
async function exchange(transport: Transport): Promise<void> {
  let partial = 0
  const counted = (wire: Wire): Wire => ({
    ...wire,
    write(bytes) {
      const taken = wire.write(bytes)
      if (taken >= 0 && taken < bytes.length) partial++
      return taken
    },
  })
  const cutOffs: string[] = []
  const parts = { epoch: 1, now: () => performance.now(), onCutOff: (reason: string) => cutOffs.push(reason) }
  const seen = new Map<unknown, number>()
  const primary: Session = new Session({
    ...parts,
    side: 'primary',
    onBreak: () => undefined,
    onFrame: ({ request, payload }) => {
      seen.set(payload[0], (seen.get(payload[0]) ?? 0) + 1)
      primary.answer(request, [payload[0], 'y'.repeat(300)])
    },
  })
  let isConnected = false
  const worker = new Session({
    ...parts,
    side: 'worker',
    onFrame: () => undefined,
    onBreak: () => {
      isConnected = false
    },
  })
  // In place of the handshake: the numbers of both sides are read in one process.
  let ofWorker = 0
  let ofPrimary = 0
  const attached = (session: Session, received: number, bare: Wire): Ends => {
    const wire = counted(bare)
    session.attach(wire, new FrameDecoder(() => undefined), received)
    isConnected ||= session === worker
    return { session, wire }
  }
  const { isEncrypted, size } = transport
  const server = transport.listen(handlers((wire) => attached(primary, ofWorker, wire), isEncrypted))
  const connect = async () => {
    ofPrimary = primary.suspend()
    ofWorker = worker.suspend()
    const socket = await transport.connect(handlers((wire) => attached(worker, ofPrimary, wire), isEncrypted))
    await until(() => isConnected)
    return socket
  }
  try {
    const answers = new Map<unknown, number>()
    let asked = 0
    let breaks = 0
    let socket = await connect()
    while (answers.size < ROUNDS) {
      for (let i = 0; i < BURST && asked < ROUNDS; i++) {
        const mark = asked++
        worker.ask('capture', [mark, 'x'.repeat(size + (mark % 500))], (answer) =>
          answers.set(answer?.[0], (answers.get(answer?.[0]) ?? 0) + 1),
        )
      }
      const wanted = Math.min(asked - 300, ROUNDS)
      if (breaks < 8) {
        breaks++
        await Bun.sleep(breaks % 3)
        socket.terminate()
        await until(() => !isConnected)
        socket = await connect()
      }
      await until(() => answers.size >= (asked < ROUNDS ? wanted : ROUNDS))
    }
    expect([...answers.values()].every((times) => times === 1)).toBe(true)
    expect([...seen.values()].every((times) => times === 1)).toBe(true)
    expect(seen.size).toBe(ROUNDS)
    expect(breaks).toBe(8)
    expect(partial).toBeGreaterThan(0)
    expect(cutOffs).toEqual([])
    socket.terminate()
  } finally {
    worker.end()
    primary.end()
    server.stop(true)
  }
}

test('a session over a unix socket', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'session-'))
  const unix = join(folder, 'workers.sock')
  try {
    await exchange({
      isEncrypted: false,
      size: 200,
      listen: (socket) => Bun.listen<Ends | null>({ unix, socket }),
      connect: (socket) => connectTo<Ends | null>({ unix }, null, socket),
    })
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('a session over TLS', async () => {
  const { cert, key } = LOCALHOST_CERTIFICATE
  let port = 0
  await exchange({
    isEncrypted: true,
    size: 7200,
    listen(socket) {
      const server = Bun.listen<Ends | null>({ hostname: '127.0.0.1', port: 0, socket, tls: { cert, key } })
      port = server.port
      return server
    },
    connect: (socket) => connectTo<Ends | null>({ hostname: '127.0.0.1', port, tls: true }, cert, socket),
  })
})
