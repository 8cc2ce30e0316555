import { afterEach, describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { Connection, type ConnectionParts } from '../../../server/adapters/workers/connection'
import { encodedFrame, type Payload } from '../../../server/adapters/workers/frames'
import { handshakeFrame } from '../../../server/adapters/workers/handshake'
import { connectTo, localPrimary, type PrimaryAddress } from '../../../server/adapters/workers/primary-address'
import type { WorkerService } from '../../../server/adapters/workers/served-worker'
import { WorkerServer, type WorkerServerParts } from '../../../server/adapters/workers/worker-server'
import { freePort } from '../../support/servers/free-port'
import { LOCALHOST_CERTIFICATE } from '../../support/servers/localhost-certificate'
import { until } from '../../support/until'

const KEY = randomBytes(32)
const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

/** Names of abstract sockets, of this process alone. */
let nextPort = process.pid * 1000

const instance = () => randomBytes(16).toString('hex')

/** A clock that goes on by itself, and can be set forward. */
function clock() {
  const one = {
    ahead: 0,
    reads: 0,
    now() {
      one.reads++
      return performance.now() + one.ahead
    },
  }
  return one
}

interface Recorded extends WorkerService {
  readonly took: unknown[][]
  readonly asked: unknown[][]
  ends: number
}

const keyOf = (name: string) => (name === 'local-1' || name === 'local-2' ? KEY : null)

async function primary(
  more: Partial<WorkerServerParts> = {},
  service: Partial<WorkerService> = {},
  address = localPrimary(nextPort++),
) {
  const lines: string[] = []
  const services: Recorded[] = []
  const time = clock()
  const server = new WorkerServer({
    listeners: [{ at: address, keyOf, passOnPort: 1 }],
    version: '1.2.3',
    epoch: 1,
    warn: (message, fields) => lines.push(`${message} ${JSON.stringify(fields)}`),
    now: time.now,
    serve() {
      const one: Recorded = {
        took: [],
        asked: [],
        ends: 0,
        count: 3,
        async answer(kind, payload) {
          one.asked.push([kind, ...payload])
          return [kind, ...payload]
        },
        take: (kind, payload) => void one.took.push([kind, ...payload]),
        sweep: () => undefined,
        end: async () => void one.ends++,
        ...service,
      }
      services.push(one)
      return one
    },
    ...more,
  })
  server.listen()
  closers.push(() => server.close())
  return { server, address, lines, services, time }
}

function worker(address: PrimaryAddress, more: Partial<ConnectionParts> = {}) {
  const lines: string[] = []
  const pushed: Payload[] = []
  const time = clock()
  const connection = new Connection({
    addresses: [address],
    credential: 'local-1',
    key: KEY,
    instance: instance(),
    version: '1.2.3',
    onPush: (payload) => void pushed.push(payload),
    warn: (message, fields) => lines.push(`${message} ${JSON.stringify(fields)}`),
    now: time.now,
    ...more,
  })
  closers.push(() => connection.close())
  return { connection, lines, pushed, time }
}

/** The sockets between a worker and its primary, which can be cut and replaced while both live. */
async function between(address: { readonly unix: string }) {
  const own = localPrimary(await freePort())
  const pairs = new Set<{ near: Bun.Socket<unknown>; far: Bun.Socket<unknown> | null }>()
  let isOpen = true
  const listener = Bun.listen<{ far: Bun.Socket<unknown> | null; early: Buffer[] }>({
    unix: own.unix,
    socket: {
      async open(near) {
        near.data = { far: null, early: [] }
        if (!isOpen) return void near.terminate()
        const far = await Bun.connect({
          unix: address.unix,
          socket: {
            data: (_far, chunk) => void near.write(chunk),
            close: () => void near.terminate(),
          },
        })
        near.data.far = far
        for (const chunk of near.data.early) far.write(chunk)
        pairs.add({ near, far })
      },
      data: ({ data }, chunk) => void (data.far ? data.far.write(chunk) : data.early.push(Buffer.from(chunk))),
      close: ({ data }) => void data.far?.terminate(),
    },
  })
  closers.push(() => listener.stop(true))
  return {
    address: own,
    cut(staysCut = false) {
      isOpen = !staysCut
      for (const { near } of pairs) near.terminate()
      pairs.clear()
    },
    restore() {
      isOpen = true
    },
  }
}

describe('a worker and its primary', () => {
  test('are connected once both are proved, and requests get their answers', async () => {
    const { address, server, services } = await primary()
    const { connection } = worker(address)
    await until(() => connection.isReady)
    expect(await connection.ask('admit', ['x'])).toEqual(['admit', 'x'])
    expect(await connection.ask('hold', ['y'])).toEqual(['hold', 'y'])
    connection.tell('note', ['z'])
    await connection.flush(5000)
    expect(services[0]?.took).toEqual([['note', 'z']])
    const passOn = await connection.passOn()
    expect(passOn?.origin).toBe('http://127.0.0.1:1')
    expect(server.isToken(passOn?.token ?? '')).toBe(true)
    expect(server.isToken('')).toBe(false)
    const [state, ...others] = server.workers()
    expect(others).toEqual([])
    expect(state).toMatchObject({ name: 'local-1', isConnected: true, openCalls: 3 })
  })

  test('a request that fails gets an empty answer, and a line in the log', async () => {
    const { address, lines } = await primary(
      {},
      {
        answer: async () => {
          throw new Error('the disk is full')
        },
        take() {
          throw new Error('no such call')
        },
      },
    )
    const { connection } = worker(address)
    await until(() => connection.isReady)
    expect(await connection.ask('hold', ['x'])).toEqual([])
    expect(lines.join()).toContain(
      'worker local-1 asked for something that failed {"kind":"hold","reason":"the disk is full"}',
    )
    connection.tell('alone', ['x'])
    await connection.flush(5000)
    expect(lines.join()).toContain('no such call')
    expect(connection.isReady).toBe(true)
  })

  test('a worker without a session answers null at once', async () => {
    const { connection } = worker(localPrimary(await freePort()))
    expect(connection.isReady).toBe(false)
    expect(await connection.passOn(0)).toBeNull()
    expect(await connection.ask('admit', ['x'])).toBeNull()
  })

  test('a second primary cannot have the same port', async () => {
    const { address } = await primary()
    const other = new WorkerServer({
      listeners: [{ at: address, keyOf: () => KEY, passOnPort: 1 }],
      version: '1.2.3',
      epoch: 1,
      warn: () => undefined,
      serve: () => {
        throw new Error('unused')
      },
    })
    expect(() => other.listen()).toThrow(expect.objectContaining({ code: 'EADDRINUSE' }))
  })

  test('another key, an unknown name and another version are refused with a line', async () => {
    const { address, services, lines } = await primary()
    const strangers = [
      worker(address, { key: randomBytes(32) }),
      worker(address, { credential: 'nobody' }),
      worker(address, { version: '1.3.0' }),
    ]
    for (const one of strangers) await until(() => one.lines.length > 0)
    expect(strangers.map(({ lines: [line] }) => line)).toEqual([
      'what listens there is not the primary of this worker, or does not know its credential {"reason":"credential","version":"1.2.3","own":"1.2.3"}',
      'what listens there is not the primary of this worker, or does not know its credential {"reason":"credential","version":"1.2.3","own":"1.2.3"}',
      'the primary refused this worker {"reason":"version","version":"1.2.3","own":"1.3.0"}',
    ])
    expect(services).toEqual([])
    expect(lines.join()).toContain('a worker was refused {"reason":"version","version":"1.3.0","own":"1.2.3"}')
  })

  test('connections that prove nothing are ended: at once beyond 64, the others at their deadline', async () => {
    const { address, lines } = await primary({ handshakeMs: 300 })
    let ended = 0
    const connect = () => connectTo<null>(address, null, { data: () => undefined, close: () => void ended++ })
    const all = await Promise.all(Array.from({ length: 70 }, connect))
    await until(() => ended >= 6)
    expect(lines[0]).toContain('too many connections of workers are not proved')
    await until(() => ended === 70)
    for (const one of all) one.terminate()
    const { connection } = worker(address)
    await until(() => connection.isReady)
  })

  test('what a stranger sends ends its connection, and nothing else', async () => {
    const { address, services, lines } = await primary()
    const hello = ['worker', '1.2.3', 'local-1', instance(), randomBytes(32).toString('base64url')]
    const session = encodedFrame({ kind: 'admit', epoch: 1, number: 1, received: 0, request: 1 }, ['x'])
    const sent: Record<string, Uint8Array | null> = {
      noise: randomBytes(200),
      text: Buffer.from('GET / HTTP/1.1\r\nhost: gw\r\n\r\n'.repeat(4)),
      'a frame of a session': session,
      'a proof without a hello': handshakeFrame('proof', ['x'.repeat(43), 1, 0]),
      'a hello twice': Buffer.concat([handshakeFrame('hello', hello), handshakeFrame('hello', hello)]),
      'a forged proof': Buffer.concat([
        handshakeFrame('hello', hello),
        handshakeFrame('proof', ['x'.repeat(43), 1, 0]),
      ]),
      'a welcome': handshakeFrame('welcome', [null, 'token', 'http://127.0.0.1']),
    }
    for (const [what, bytes] of Object.entries(sent)) {
      let isEnded = false
      await connectTo<null>(address, null, {
        open: (socket) => void socket.write(bytes ?? ''),
        data: () => undefined,
        close: () => {
          isEnded = true
        },
      })
      await until(
        () => isEnded,
        () => what,
      )
    }
    expect(services).toEqual([])
    expect(lines.some((line) => line.includes('failed'))).toBe(false)
    const { connection } = worker(address)
    await until(() => connection.isReady)
  })

  test('a service that cannot begin ends the connection, with a line', async () => {
    let isBroken = true
    const { address, lines } = await primary({
      serve() {
        if (isBroken) throw new Error('no memory')
        return { count: 0, answer: async () => [], take() {}, sweep() {}, end: async () => undefined }
      },
    })
    const { connection } = worker(address)
    await until(() => lines.length > 0)
    expect(lines[0]).toBe('a connection of a worker failed {"reason":"no memory"}')
    isBroken = false
    await until(() => connection.isReady)
  })
})

describe('a connection that breaks', () => {
  test('is made again, and its session goes on: no request is lost or done twice', async () => {
    const { address, services } = await primary()
    const cable = await between(address)
    const { connection } = worker(cable.address)
    await until(() => connection.isReady)
    const token = (await connection.passOn(0))?.token
    for (let i = 0; i < 20; i++) {
      const asked = Promise.all(Array.from({ length: 10 }, (_, n) => connection.ask('capture', [i, n])))
      connection.tell('note', [i])
      cable.cut()
      expect(await asked).toEqual(Array.from({ length: 10 }, (_, n) => ['capture', i, n]))
    }
    await until(() => connection.isReady)
    await connection.flush(5000)
    expect(services.length).toBe(1)
    expect(services[0]?.asked.length).toBe(200)
    expect(services[0]?.took.map(([, i]) => i)).toEqual(Array.from({ length: 20 }, (_, i) => i))
    expect((await connection.passOn(0))?.token).toBe(token ?? '')
  })

  test('settles the calls of its worker only when the lease and its margin are over', async () => {
    const { address, services, server, time } = await primary()
    const cable = await between(address)
    const { connection } = worker(cable.address)
    await until(() => connection.isReady)
    cable.cut(true)
    await until(() => server.workers()[0]?.isConnected === false)
    time.ahead += 6000
    const { reads } = time
    await until(() => time.reads > reads)
    expect(services[0]?.ends).toBe(0)
    time.ahead += 3000
    await until(() => services[0]?.ends === 1)
    expect(server.workers()).toEqual([])
    // It comes back: its session is over, and another begins.
    cable.restore()
    await until(() => services.length === 2 && connection.isReady)
    expect(services[0]?.ends).toBe(1)
  })

  test('ends what the worker asks when its lease is over; back again, it begins another session at once', async () => {
    const { address, services } = await primary()
    const cable = await between(address)
    const { connection, time } = worker(cable.address)
    await until(() => connection.isReady)
    cable.cut(true)
    await until(() => !connection.isReady)
    expect(connection.hasLease).toBe(true)
    const asked = connection.ask('hold', ['x'])
    time.ahead += 5100
    expect(connection.hasLease).toBe(false)
    expect(await connection.ask('hold', ['y'])).toBeNull()
    expect(await asked).toBeNull()
    expect(services[0]?.ends).toBe(0)
    cable.restore()
    await until(() => services.length === 2 && connection.isReady)
    expect(services[0]?.ends).toBe(1)
    expect(await connection.ask('hold', ['z'])).toEqual(['hold', 'z'])
  })

  test('a worker that says nothing is taken for hung', async () => {
    const { address, server, time, lines } = await primary()
    const { connection } = worker(address)
    await until(() => connection.isReady)
    await until(() => {
      // A beat may come in between.
      time.ahead += 6000
      return lines.some((line) => line.includes('does not answer'))
    })
    await until(() => connection.isReady && server.workers()[0]?.isConnected === true)
  })

  test('a process that is known to be dead is settled at once, and only that one', async () => {
    const { address, server, services } = await primary()
    const id = instance()
    const one = worker(address, { instance: id })
    await until(() => one.connection.isReady)
    const other = worker(address, { credential: 'local-2' })
    await until(() => other.connection.isReady)
    await server.gone(id)
    expect(services.map(({ ends }) => ends)).toEqual([1, 0])
    await server.gone(id)
    await server.close()
    expect(services.map(({ ends }) => ends)).toEqual([1, 1])
  })

  test('another primary within the lease gets another session, in which what is open can be claimed', async () => {
    const first = await primary()
    const events: string[] = []
    const { connection } = worker(first.address, {
      onLost: () => void events.push('lost'),
      onReplaced: () => void events.push('replaced'),
    })
    await until(() => connection.isReady)
    const { sessionNumber } = connection
    await first.server.close()
    await until(() => !connection.isReady)
    const back = connection.back(20_000)
    expect(connection.hasLease).toBe(true)
    const second = await primary({ epoch: 2 }, {}, first.address)
    await until(() => connection.isReady)
    expect(connection.hasLease).toBe(true)
    expect(connection.sessionNumber).toBe(sessionNumber + 1)
    expect(await connection.ask('claim', ['x'])).toEqual(['claim', 'x'])
    expect([second.services.length, events]).toEqual([1, ['replaced']])
    // Of a unix socket nobody waits for another primary: its workers end with it.
    expect(await back).toBe(false)
  })

  test('another primary after the lease finds nothing open', async () => {
    const first = await primary()
    const events: string[] = []
    const { connection, time } = worker(first.address, {
      onLost: () => void events.push('lost'),
      onReplaced: () => void events.push('replaced'),
    })
    await until(() => connection.isReady)
    await first.server.close()
    await until(() => !connection.isReady)
    time.ahead += 5100
    await until(() => events.length === 1)
    await primary({ epoch: 2 }, {}, first.address)
    await until(() => connection.isReady)
    expect(events).toEqual(['lost'])
  })

  test('a lease that ends while the next primary is being proved ends what is open', async () => {
    const first = await primary()
    const events: string[] = []
    const time = clock()
    const { connection } = worker(first.address, {
      now: time.now,
      onLost: () => void events.push('lost'),
      onReplaced: () => void events.push('replaced'),
    })
    await until(() => connection.isReady)
    await first.server.close()
    await until(() => !connection.isReady)
    let isFirst = true
    const keyOf = () => {
      if (isFirst) time.ahead += 5100
      isFirst = false
      return KEY
    }
    await primary({ epoch: 2, listeners: [{ at: first.address, keyOf, passOnPort: 1 }] }, {}, first.address)
    await until(() => connection.isReady)
    expect(events).toEqual(['lost'])
  })
})

describe('over TCP', () => {
  const at = (port: number) => ({ hostname: '127.0.0.1', port, tls: LOCALHOST_CERTIFICATE })
  const address = (port: number) => ({ hostname: 'localhost', port, tls: true })

  test('a worker finds the primary among several addresses, again and again, and waits for it', async () => {
    const [one, other] = [await freePort(), await freePort()]
    const listening = (port: number) => ({ listeners: [{ at: at(port), keyOf, passOnPort: port + 1 }] })
    const first = await primary(listening(one))
    const { connection } = worker(address(one), {
      addresses: [address(other), address(one)],
      ca: LOCALHOST_CERTIFICATE.cert,
    })
    expect(await connection.back(20_000)).toBe(true)
    expect((await connection.passOn(0))?.origin).toBe(`https://localhost:${one + 1}`)
    await first.server.close()
    await until(() => !connection.isReady)
    expect(await connection.back(1)).toBe(false)
    const back = connection.back(20_000)
    await primary({ ...listening(other), epoch: 2 })
    expect(await back).toBe(true)
    expect((await connection.passOn(0))?.origin).toBe(`https://localhost:${other + 1}`)
  })

  test('a worker goes over to a primary of a higher epoch at once, while the lower one still answers, and not back', async () => {
    const [one, other] = [await freePort(), await freePort()]
    const listening = (port: number) => ({ listeners: [{ at: at(port), keyOf, passOnPort: port + 1 }] })
    const first = await primary(listening(one))
    const events: string[] = []
    const { connection, lines } = worker(address(one), {
      addresses: [address(one), address(other)],
      ca: LOCALHOST_CERTIFICATE.cert,
      onLost: () => void events.push('lost'),
      onReplaced: () => void events.push('replaced'),
    })
    expect(await connection.back(20_000)).toBe(true)
    const second = await primary({ ...listening(other), epoch: 2 })
    await until(() => events.length > 0)
    expect([events, connection.isReady]).toEqual([['replaced'], true])
    expect((await connection.passOn(0))?.origin).toBe(`https://localhost:${other + 1}`)
    expect(await connection.ask('claim', ['x'])).toEqual(['claim', 'x'])
    await second.server.close()
    await until(() => lines.some((line) => line.includes('older_epoch')))
    expect([connection.isReady, first.services.length]).toEqual([false, 1])
  })

  test('a primary with two addresses has one session of a worker', async () => {
    const [one, other] = [await freePort(), await freePort()]
    let hellos = 0
    const seen = (name: string) => {
      hellos++
      return keyOf(name)
    }
    const listeners = [one, other].map((port) => ({ at: at(port), keyOf: seen, passOnPort: port + 1 }))
    const { services } = await primary({ listeners })
    const { connection, lines } = worker(address(one), {
      addresses: [address(one), address(other)],
      ca: LOCALHOST_CERTIFICATE.cert,
    })
    expect(await connection.back(20_000)).toBe(true)
    // Two of the handshake that succeeded, and one of each that the worker ended.
    await until(() => hellos >= 4)
    expect([services.length, connection.sessionNumber, connection.isReady, lines]).toEqual([1, 1, true, []])
  })

  test('a worker says nothing to a primary whose certificate it does not trust, and its log says why', async () => {
    const port = await freePort()
    const { services } = await primary({ listeners: [{ at: at(port), keyOf, passOnPort: 1 }] })
    const { connection, lines } = worker(address(port), { ca: null })
    await until(() => lines.length > 0)
    expect(lines[0]).toContain('the connection to the primary failed')
    expect([connection.isReady, services.length]).toEqual([false, 0])
  })

  test('a worker whose credential was removed is cut off at once, and its calls are settled after its lease', async () => {
    let known = true
    const port = await freePort()
    const named = (name: string) => (name === 'local-2' || known ? KEY : null)
    const { server, services, time } = await primary({ listeners: [{ at: at(port), keyOf: named, passOnPort: 1 }] })
    const ca = LOCALHOST_CERTIFICATE.cert
    const removed = worker(address(port), { ca })
    await until(() => removed.connection.isReady)
    const stays = worker(address(port), { ca, credential: 'local-2' })
    await until(() => stays.connection.isReady)
    const token = (await removed.connection.passOn(0))?.token ?? ''
    expect(server.isToken(token)).toBe(true)
    known = false
    server.cutOff('local-1', 'its credential was removed')
    expect([server.isToken(token), stays.connection.isReady]).toEqual([false, true])
    removed.connection.tell('note', ['too late'])
    await until(() => removed.lines.some((line) => line.includes('does not know its credential')))
    expect([services[0]?.took, services[0]?.ends]).toEqual([[], 0])
    time.ahead += 9000
    await until(() => services[0]?.ends === 1)
    expect(await stays.connection.ask('admit', ['x'])).not.toBeUndefined()
  })
})

describe('a push', () => {
  test('resolves once every worker has taken it', async () => {
    const { address, server } = await primary()
    const [one, other] = [worker(address), worker(address, { credential: 'local-2' })]
    await until(() => one.connection.isReady && other.connection.isReady)
    expect(await server.push(['prices', 2])).toBe(true)
    expect([one.pushed, other.pushed]).toEqual([[['prices', 2]], [['prices', 2]]])
  })

  test('reaches one worker while its service begins', async () => {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const service: WorkerService = {
      count: 0,
      answer: async () => [],
      take: () => undefined,
      sweep: () => undefined,
      end: async () => undefined,
    }
    const { address } = await primary({
      serve(_worker, push) {
        void push(['settings', 1]).then(resolve)
        return service
      },
    })
    const { pushed } = worker(address)
    expect(await promise).toBe(true)
    expect(pushed).toEqual([['settings', 1]])
  })

  test('cuts off who cannot use it, and who does not answer within 2 s', async () => {
    const { address, server, services, lines } = await primary()
    let isBroken = true
    const refusing = worker(address, {
      onPush() {
        if (isBroken) throw new Error('unknown table')
      },
    })
    const hanging = worker(address, {
      credential: 'local-2',
      onPush: () => (isBroken ? new Promise<void>(() => undefined) : undefined),
    })
    await until(() => refusing.connection.isReady && hanging.connection.isReady)
    const began = performance.now()
    expect(await server.push(['prices', 2])).toBe(false)
    expect(performance.now() - began).toBeLessThan(6000)
    expect(lines.filter((line) => line.includes('was cut off')).length).toBe(2)
    isBroken = false
    // Back with sessions of their own, with which the calls of those before are settled.
    await until(() => refusing.connection.isReady && hanging.connection.isReady && services.length === 4)
    expect(services.slice(0, 2).map(({ ends }) => ends)).toEqual([1, 1])
    expect(await server.push(['prices', 3])).toBe(true)
  })
})
