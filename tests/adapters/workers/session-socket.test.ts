import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Socket } from 'bun'
import { FrameDecoder } from '../../../server/adapters/workers/frames'
import { Session, type Wire } from '../../../server/adapters/workers/session'
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

const handlers = (opened: (socket: Socket<Ends | null>) => Ends) => ({
  open(socket: Socket<Ends | null>) {
    socket.data = opened(socket)
  },
  data: ({ data }: Socket<Ends | null>, chunk: Buffer) => data?.session.receive(data.wire, chunk),
  drain: ({ data }: Socket<Ends | null>) => data?.session.drained(data.wire),
  close: ({ data }: Socket<Ends | null>) => data?.session.closed(data.wire),
})

const ROUNDS = 12_000

test('a session over a unix socket: large bursts, partial writes, broken connections; each request has one answer', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'session-'))
  const unix = join(folder, 'workers.sock')
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
  const attached = (session: Session, wire: Wire, received: number): Ends => {
    session.attach(wire, new FrameDecoder(() => undefined), received)
    return { session, wire }
  }
  const server = Bun.listen<Ends | null>({
    unix,
    socket: handlers((socket) => attached(primary, counted(wireOf(socket)), worker.suspend())),
  })
  const connect = async () => {
    const ofPrimary = primary.suspend()
    const socket = await Bun.connect<Ends | null>({
      unix,
      socket: handlers((own) => attached(worker, counted(wireOf(own)), ofPrimary)),
    })
    isConnected = true
    return socket
  }
  try {
    const answers = new Map<unknown, number>()
    let asked = 0
    let breaks = 0
    let socket = await connect()
    while (answers.size < ROUNDS) {
      for (let i = 0; i < 1000 && asked < ROUNDS; i++) {
        const mark = asked++
        worker.ask('capture', [mark, 'x'.repeat(200 + (mark % 500))], (answer) =>
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
    rmSync(folder, { recursive: true })
  }
})
