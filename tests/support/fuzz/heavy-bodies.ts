import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SHORT_BODY_BYTES } from '../../../server/pipeline/models/body-reader'
import { control, dataFolder, removeFolder, signUp, startServer } from '../server-process'

/**
 * Most CPU time of the thread that serves everybody that the gateway may take for one request, beyond what a bare Bun server takes to
 * receive the same bytes. 50 ms is what is promised (issue 14.12). A body over 1 MiB is only taken in and passed on, which takes less than
 * 10 ms for 31 MB; to parse it on that thread took 71 (one text) to 2,836 (members): half of 50 lies between.
 */
const MOST_OWN_MS = { read: 50, passedOn: 25 }
const TRIES = 11
/** A body that was never read shows nothing. */
const REFUSED_UNREAD: ReadonlySet<number> = new Set([401, 429])
const MIB = 1024 * 1024
const CHAT_BEGIN = '{"model":"sandbox/echo","max_tokens":5,"messages":[{"role":"user","content":"Hello"}]'

interface HeavyBody {
  readonly kind: string
  readonly path: string
  readonly body: string
}

interface HeavyReading {
  readonly kind: string
  readonly statuses: readonly number[]
  /** The middle ones of some tries: a collector that happens to run is nobody's attack. */
  readonly totalMs: number
  readonly bareMs: number
  readonly ownMs: number
  readonly mostOwnMs: number
  /** An answer that says that a body was not read. */
  readonly unread: string | null
  readonly fits: boolean
}

/** So many bytes of `part` over and over. */
const filled = (part: string, bytes: number) => part.repeat(Math.floor(bytes / part.length))
const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
const members = (bytes: number) =>
  `{${Array.from({ length: Math.floor(bytes / 12) }, (_, i) => `"${i.toString(36).padStart(6, '0')}":1`).join(',')}}`

/** Bodies that once stopped the process, or were made to. */
function heavyBodies(): HeavyBody[] {
  const models = ['/v1/chat/completions', '/v1/messages', '/v1beta/models/sandbox%2Fecho:generateContent']
  const others = ['/apis/v1/websearch/llm/context', '/mcp', '/mcp/paid', '/v1/deep-research', '/api/auth/sign-up/email']
  const long = 31 * MIB
  const chat = (kind: string, more: string): HeavyBody => ({
    kind,
    path: '/v1/chat/completions',
    body: `${CHAT_BEGIN},"pad":${more}}`,
  })
  return [
    ...[...models, ...others].flatMap((path) => [
      { kind: `100,000 deep to ${path}`, path, body: nested(100_000) },
      { kind: `1 MB of members to ${path}`, path, body: members(MIB - 20) },
      { kind: `1 MB of numbers to ${path}`, path, body: `{"q":[${filled('1,', MIB - 20)}1]}` },
      { kind: `1 MB of empty texts to ${path}`, path, body: `{"q":[${filled('"",', MIB - 20)}1]}` },
      { kind: `99,999 members to ${path}`, path, body: members(99_000 * 12).slice(0, MIB - 20) },
    ]),
    ...models.map((path) => ({ kind: `31 MB of members to ${path}`, path, body: members(long) })),
    chat('31 MB of numbers', `[${filled('1,', long)}1]`),
    chat('31 MB of empty texts', `[${filled('"",', long)}1]`),
    chat('31 MB of one text', `"${filled('a', long)}"`),
    chat('31 MB of escapes', `"${filled('\\n', long)}"`),
    chat('31 MB and then nested', `["${filled('a', long)}",${nested(100_000)}]`),
    chat('31 MB, broken at its end', `["${filled('a', long)}",`),
  ]
}

/**
 * Sends each heavy body in turns to a real server process and to a bare one, and reads what each took of the CPU of the thread that
 * serves. Bun alone takes 10 to 50 ms to receive 31 MB, as busy as the machine is: only what the gateway adds to that is its own. What
 * the gateway's timers take anyway is nobody's: a long body waits for seconds for its thread where others use the cores.
 */
export async function heavyRun(): Promise<readonly HeavyReading[]> {
  const folder = await dataFolder()
  const server = await startServer(folder, { ANON_RPM: '1000000', SIGNUP_RPM: '1000000', LOG_LEVEL: 'error' })
  const bare = await startBareReceiver()
  try {
    const owner = await signUp(server.url, 'owner@example.com')
    await control(folder, 'limits', { account: owner.id, limits: { rpm: 1e8, tpm: 1e8, concurrency: 1000 } })
    await control(folder, 'grant', { account: owner.id, usd: '1000' })
    const idleShare = await idleShareOf(server)
    const readings: HeavyReading[] = []
    for (const heavy of heavyBodies()) {
      // A key of its own for each try: some routes take a few calls a minute and key, and refuse the others unread.
      const keys = await Promise.all(Array.from({ length: TRIES + 1 }, () => newKey(owner)))
      readings.push(await heavyReading(heavy, keys, { ...server, idleShare }, bare))
    }
    return readings
  } finally {
    await bare.end()
    await server.kill('SIGKILL')
    await removeFolder(folder)
  }
}

async function newKey(owner: Awaited<ReturnType<typeof signUp>>): Promise<string> {
  const { secret } = await owner.api('/api/keys', { name: crypto.randomUUID() })
  if (typeof secret !== 'string') throw new Error('no key was made')
  return secret
}

async function heavyReading(
  heavy: HeavyBody,
  [firstKey = '', ...keys]: readonly string[],
  server: Receiver & { readonly idleShare: number },
  bare: Receiver,
): Promise<HeavyReading> {
  const mostOwnMs = heavy.body.length > SHORT_BODY_BYTES ? MOST_OWN_MS.passedOn : MOST_OWN_MS.read
  await send(bare, heavy, firstKey)
  const sent = [await send(server, heavy, firstKey)]
  const pairs: { total: number; bare: number }[] = []
  for (const [turn, key] of keys.entries()) {
    const early = turn % 2 === 0 ? await send(bare, heavy, key) : null
    const one = await send(server, heavy, key)
    const { cpuMs } = early ?? (await send(bare, heavy, key))
    sent.push(one)
    pairs.push({ total: one.cpuMs - server.idleShare * one.tookMs, bare: cpuMs })
  }
  const ownMs = middle(pairs.map(({ total, bare }) => total - bare))
  const unread = sent.find(({ status }) => status >= 500 || REFUSED_UNREAD.has(status))
  return {
    kind: heavy.kind,
    statuses: [...new Set(sent.map(({ status }) => status))],
    totalMs: middle(pairs.map(({ total }) => total)),
    bareMs: middle(pairs.map(({ bare }) => bare)),
    ownMs,
    mostOwnMs,
    unread: unread?.text ?? null,
    fits: ownMs <= mostOwnMs && !unread,
  }
}

/** Sends the body, and reads what it took of the CPU of the receiver's serving thread until it was answered. */
async function send({ url, pid }: Receiver, { path, body }: HeavyBody, key: string) {
  const keyed = /^\/(v1|apis|mcp$)/.test(path)
  const before = await servingCpuMs(pid)
  const sentAt = performance.now()
  const answer = await fetch(url + path, {
    method: 'POST',
    headers: {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      ...(keyed && { authorization: `Bearer ${key}` }),
    },
    body,
  })
  const text = await answer.text()
  const tookMs = performance.now() - sentAt
  return { status: answer.status, text, cpuMs: (await servingCpuMs(pid)) - before, tookMs }
}

/** What part of its time the serving thread works while nobody asks anything: of some seconds the middle one. */
async function idleShareOf({ pid }: Receiver): Promise<number> {
  const shares: number[] = []
  for (let second = 0; second < 5; second++) {
    const [before, begunAt] = [await servingCpuMs(pid), performance.now()]
    await Bun.sleep(1000)
    shares.push(((await servingCpuMs(pid)) - before) / (performance.now() - begunAt))
  }
  return middle(shares)
}

/** The readings as lines to read, the worst first. */
export function heavyLines(readings: readonly HeavyReading[]): string[] {
  const worst = readings.toSorted((a, b) => b.ownMs - a.ownMs)
  const ms = (value: number) => `${value.toFixed(1).padStart(6)} ms`
  return [
    `heavy bodies          ${readings.length}; of the serving thread each: beyond a bare server's, in all, a bare server's`,
    ...worst.map(
      ({ kind, statuses, totalMs, bareMs, ownMs, mostOwnMs, unread, fits }) =>
        `  ${fits ? ' ' : '!'} ${ms(ownMs)} of ${mostOwnMs}  ${ms(totalMs)}  ${ms(bareMs)}  ${statuses}  ${kind}${unread ? `: ${unread}` : ''}`,
    ),
  ]
}

const middle = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

/** A server process that takes bodies in. */
interface Receiver {
  readonly url: string
  readonly pid: number
}

async function startBareReceiver() {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'bare-receiver.ts')], { stdout: 'pipe' })
  const { value } = await child.stdout.getReader().read()
  const { origin: url } = new URL(new TextDecoder().decode(value))
  const end = () => {
    child.kill('SIGKILL')
    return child.exited
  }
  return { url, pid: child.pid, end }
}

/** CPU time of a process's first thread, which runs its JavaScript. */
async function servingCpuMs(pid: number): Promise<number> {
  const [nanoseconds = ''] = (await readFile(`/proc/${pid}/task/${pid}/schedstat`, 'utf8')).split(' ')
  return Number(nanoseconds) / 1e6
}
