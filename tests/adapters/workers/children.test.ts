import { afterEach, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { Children } from '../../../server/adapters/workers/children'
import { readParent } from '../../../server/adapters/workers/parent'
import { freePort } from '../../support/servers/free-port'
import { until } from '../../support/until'

type Event = readonly [kind: string, ...words: unknown[]]

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

/** A primary in a process of its own. */
async function primary(count: number, environment: Record<string, string> = {}) {
  const port = await freePort()
  const child = Bun.spawn([process.execPath, `${import.meta.dir}/primary-process.ts`, `${port}`, `${count}`], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, ...environment },
  })
  const events: Event[] = []
  const read = async () => {
    let rest = ''
    for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + part).split('\n')
      rest = lines.pop() ?? ''
      events.push(...lines.map((line) => JSON.parse(line) as Event))
    }
  }
  void read()
  const pids = () => events.filter(([kind]) => kind === 'serves').map(([, , , pid]) => Number(pid))
  closers.push(async () => {
    child.kill('SIGKILL')
    await child.exited
    for (const pid of pids()) if (isRunning(pid)) process.kill(pid, 'SIGKILL')
  })
  await until(
    () => pids().length >= count,
    () => events,
  )
  const url = `http://127.0.0.1:${port}`
  return { child, url, events, pids, of: (kind: string) => events.filter((event) => event[0] === kind) }
}

/** Not a zombie, whose parent has not asked how it ended. */
function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat[stat.lastIndexOf(')') + 2] !== 'Z'
  } catch {
    return false
  }
}

test('a worker that dies is settled at once, and started again with a line in the log', async () => {
  const { pids, of } = await primary(2)
  const [first = 0, second = 0] = pids()
  process.kill(first, 'SIGKILL')
  await until(() => pids().length === 3)
  const [, , instance] = of('serves').find((event) => event[3] === first) ?? []
  expect(of('settled')).toEqual([['settled', instance]])
  expect(of('gone')).toEqual([['gone', instance]])
  expect(of('warn').map(([, message, fields]) => [message, fields])).toEqual([
    [
      expect.stringMatching(/^worker local-\d is gone and starts again$/),
      { reason: 'it ended by SIGKILL', inSeconds: 0.02 },
    ],
  ])
  expect(isRunning(second)).toBe(true)
})

test('the command line of a worker has no secret, and a signal for the whole group does not end it', async () => {
  const { child, events, pids } = await primary(1)
  const [pid = 0] = pids()
  expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').filter(Boolean)).toEqual([
    process.execPath,
    `${import.meta.dir}/worker-process.ts`,
  ])
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.kill(pid, signal)
  child.stdin.write('stop\n')
  child.stdin.flush()
  await until(
    () => events.some(([kind]) => kind === 'stopped'),
    () => events,
  )
  expect(events.filter(([kind]) => kind === 'warn')).toEqual([])
  expect(isRunning(pid)).toBe(false)
})

test('a stop lets workers finish: what they say last arrives before they are settled', async () => {
  const { child, events, pids, of } = await primary(2)
  child.stdin.write('stop\n')
  child.stdin.flush()
  expect(await child.exited).toBe(0)
  await until(
    () => events.some(([kind]) => kind === 'stopped'),
    () => events,
  )
  expect(of('took')).toEqual([
    ['took', 'note', 'last'],
    ['took', 'note', 'last'],
  ])
  expect(events.map(([kind]) => kind).lastIndexOf('took')).toBeLessThan(
    events.findLastIndex(([kind]) => kind === 'settled'),
  )
  expect(of('gone').length).toBe(2)
  for (const pid of pids()) expect(isRunning(pid)).toBe(false)
})

test('a stop kills workers that do not finish', async () => {
  const { child, events, pids, of } = await primary(1, { HANGS: 'yes' })
  const [pid = 0] = pids()
  child.stdin.write('stop\n')
  child.stdin.flush()
  expect(await child.exited).toBe(0)
  await until(
    () => events.some(([kind]) => kind === 'stopped'),
    () => events,
  )
  expect(of('warn')).toEqual([['warn', 'worker local-1 did not finish in time and is killed', { pid }]])
  expect(isRunning(pid)).toBe(false)
})

test.each(['', 'short'])('a primary that is killed leaves no worker (HANGS=%s)', async (HANGS) => {
  const { child, pids } = await primary(3, HANGS ? { HANGS } : {})
  expect(pids().every(isRunning)).toBe(true)
  child.kill('SIGKILL')
  await child.exited
  await until(() => !pids().some(isRunning))
})

test('a worker that hangs is settled, killed and started again', async () => {
  const { pids, of, events } = await primary(2, { SPEED: '2' })
  const [frozen = 0] = pids()
  process.kill(frozen, 'SIGSTOP')
  await until(
    () => pids().length === 3,
    () => events,
  )
  const name = of('serves').find((event) => event[3] === frozen)?.[1]
  expect(of('settled').length).toBe(1)
  expect(of('warn').map(([, message]) => message)).toEqual([
    `worker ${name} does not answer`,
    `worker ${name} does not answer and is killed`,
    `worker ${name} is gone and starts again`,
  ])
  expect(isRunning(frozen)).toBe(false)
})

test('workers share the port, and what they pass on is answered by their primary; none listens without it', async () => {
  const { child, url, pids } = await primary(2)
  const seen = new Set<string | null>()
  const call = () => fetch(`${url}/api/keys`, { keepalive: false })
  await until(() =>
    call().then(
      ({ ok }) => ok,
      () => false,
    ),
  )
  await until(async () => {
    const answer = await call()
    expect(await answer.text()).toBe('/api/keys')
    seen.add(answer.headers.get('x-pid'))
    return seen.size === 2
  })
  expect([...seen].sort()).toEqual(pids().map(String).sort())
  child.kill('SIGKILL')
  await until(() =>
    call().then(
      () => false,
      () => true,
    ),
  )
})

test('pauses grow between starts that fail, also where the program is not there', async () => {
  const pauses: unknown[] = []
  const gone: string[] = []
  const children = new Children({
    count: 1,
    command: ['/no/such/program'],
    environment: {},
    socket: '',
    onGone: async (instance) => void gone.push(instance),
    warn: (_message, fields) => pauses.push(fields?.['inSeconds']),
    firstPauseMs: 1,
  })
  closers.push(() => children.stop(0))
  children.start()
  await until(() => pauses.length >= 5)
  expect(pauses.slice(0, 5)).toEqual([0.001, 0.002, 0.004, 0.008, 0.016])
  expect(children.keyOf('local-1')).toBeNull()
  expect(gone).toEqual([])
})

test('a program that ends before it reads its credential is started again', async () => {
  const reasons: unknown[] = []
  const children = new Children({
    count: 1,
    command: ['/bin/false'],
    environment: {},
    socket: '',
    onGone: async () => undefined,
    warn: (_message, fields) => reasons.push(fields?.['reason']),
    firstPauseMs: 1,
  })
  closers.push(() => children.stop(0))
  children.start()
  await until(() => reasons.length >= 3)
  expect(reasons.slice(0, 3)).toEqual(Array.from({ length: 3 }, () => 'it ended by code 1'))
})

test('an input that is not that of a gateway starts no worker', async () => {
  for (const text of ['', 'hello\n', 'null\n', '{"name":"local-1"}\n', 'x'.repeat(5000)])
    await expect(readParent(new Blob([text]).stream())).rejects.toThrow('a worker is started by its gateway')
})
