import { readFileSync } from 'node:fs'
import { obey } from './workshop'

/**
 * One call at a time to each of some ports, in turns: other work on the machine takes the same from each. `turns.ts KEYS_FILE PATH
 * CALLS REST_MS PORT...` says `ready` and, as JSON, the microseconds of each call of each port. Before each call it rests so long, and then fills
 * the caches with something else, as the processes of a machine do that is not busy with this alone.
 */
const [, , keys = '', path = '', calls = '', restMs = '', ...ports] = process.argv
const WARM_CALLS = 30
const [key = ''] = readFileSync(keys, 'utf8').split('\n')
const REQUEST = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\n\r\n`

/** A connection that is kept, and a call on it. */
async function open(port: number): Promise<() => Promise<void>> {
  let answer = ''
  let done = Promise.withResolvers<void>()
  const data = (_socket: unknown, bytes: Buffer) => {
    answer += bytes.toString('latin1')
    const end = answer.indexOf('\r\n\r\n')
    if (end < 0 || answer.length < end + 4 + Number(/content-length: (\d+)/i.exec(answer)?.[1])) return
    if (!answer.startsWith('HTTP/1.1 200 ')) done.reject(new Error(answer.slice(0, 400)))
    done.resolve()
  }
  const socket = await Bun.connect({ hostname: '127.0.0.1', port, socket: { data } })
  return () => {
    answer = ''
    done = Promise.withResolvers()
    socket.write(REQUEST)
    return done.promise
  }
}

const others = new Uint8Array(8 * 1024 * 1024)

async function rest(ms: number): Promise<void> {
  if (ms === 0) return
  await Bun.sleep(ms)
  for (let at = 0; at < others.length; at += 64) others[at] = (others[at] ?? 0) + 1
}

const callers = await Promise.all(ports.map((port) => open(Number(port))))
const times = callers.map((): number[] => [])
for (const call of callers) for (let i = 0; i < WARM_CALLS; i++) await call()
for (let i = 0; i < Number(calls); i++)
  for (const [at, call] of callers.entries()) {
    await rest(Number(restMs))
    const started = performance.now()
    await call()
    times[at]?.push(Math.round((performance.now() - started) * 1000))
  }
process.stdout.write(`ready ${JSON.stringify(times)}\n`)
await obey({})
