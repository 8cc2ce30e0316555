import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SHORT_BODY_BYTES } from '../../../server/pipeline/models/body-reader'
import { control, dataFolder, FREES_MEMORY, removeFolder, signUp, startServer } from '../servers/server-process'

/** Most CPU time of the thread that serves everybody that the gateway may take for one request. */
const MOST_OWN_MS = 50
/**
 * The same for a body over 1 MiB, which that thread only takes in and passes on: 14 ms at most for 31 MB. To parse them on that thread took
 * from 69 (one text) to 3,350 (members), on two cores that others used as well.
 */
const MOST_PASSING_MS = 25
/** Rounds that count: one goes before. */
const ROUNDS = 11
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
  /** The middle ones of some rounds: a collector that happens to run is no attack. */
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
 * Sends the heavy bodies in rounds, each in turns to a real server process and to a bare one, and reads what it took of the CPU of the
 * thread that serves. Bun alone takes 10 to 50 ms to receive 31 MB, as busy as the machine is: only what the gateway adds to that is its
 * own. The time of its own timers does not count: a long body waits for seconds for its thread where others use the cores.
 */
export async function heavyRun(): Promise<readonly HeavyReading[]> {
  const folder = await dataFolder()
  const server = await startServer(folder, {
    ANON_RPM: '1000000',
    SIGNUP_RPM: '1000000',
    LOG_LEVEL: 'error',
    ...FREES_MEMORY,
  })
  const bare = await startBareReceiver()
  try {
    const owner = await signUp(server.url, 'owner@example.com')
    await control(folder, `/accounts/${owner.id}/limits`, { limits: { rpm: 1e8, tpm: 1e8, concurrency: 1000 } })
    await control(folder, `/accounts/${owner.id}/grants`, { usd: '1000' })
    const bodies = heavyBodies().map((heavy) => ({ heavy, turns: [] as Turn[] }))
    for (let round = 0; round <= ROUNDS; round++) {
      // Some routes take a few calls a minute and key, and refuse more of them unread.
      const key = await newKey(owner)
      for (const { heavy, turns } of bodies) turns.push(await turnOf(heavy, key, server, bare, round % 2 === 0))
    }
    return bodies.map(({ heavy, turns }) => readingOf(heavy, turns))
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

/** One body, sent once to each. */
interface Turn {
  readonly status: number
  readonly text: string
  readonly totalMs: number
  readonly bareMs: number
}

async function turnOf(
  heavy: HeavyBody,
  key: string,
  server: Receiver,
  bare: Receiver,
  isBareFirst: boolean,
): Promise<Turn> {
  const first = isBareFirst ? await send(bare, heavy, key) : null
  const { status, text, cpuMs, tookMs } = await send(server, heavy, key)
  const idle = await cpuMsWhile(server, () => Bun.sleep(tookMs))
  const second = first ?? (await send(bare, heavy, key))
  return { status, text, totalMs: cpuMs - idle.cpuMs, bareMs: second.cpuMs }
}

function readingOf({ kind, body }: HeavyBody, turns: readonly Turn[]): HeavyReading {
  const counted = turns.slice(1)
  const bareMs = middle(counted.map((turn) => turn.bareMs))
  const ownMs = middle(counted.map((turn) => turn.totalMs - turn.bareMs))
  const mostOwnMs = body.length > SHORT_BODY_BYTES ? MOST_PASSING_MS : MOST_OWN_MS
  const unread = turns.find(({ status }) => status >= 500 || REFUSED_UNREAD.has(status))
  return {
    kind,
    statuses: [...new Set(turns.map(({ status }) => status))],
    totalMs: middle(counted.map((turn) => turn.totalMs)),
    bareMs,
    ownMs,
    mostOwnMs,
    unread: unread?.text ?? null,
    fits: ownMs <= mostOwnMs && !unread,
  }
}

/** Sends the body, and reads what it took of the receiver until it was answered. */
async function send(receiver: Receiver, { path, body }: HeavyBody, key: string) {
  const keyed = /^\/(v1|apis|mcp$)/.test(path)
  const { done, cpuMs, tookMs } = await cpuMsWhile(receiver, async () => {
    const answer = await fetch(receiver.url + path, {
      method: 'POST',
      headers: {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        ...(keyed && { authorization: `Bearer ${key}` }),
      },
      body,
    })
    return { status: answer.status, text: await answer.text() }
  })
  return { ...done, cpuMs, tookMs }
}

/** The work, and the CPU time that the receiver's serving thread took meanwhile. */
async function cpuMsWhile<T>({ pid }: Receiver, work: () => Promise<T>) {
  const cpuBefore = await servingCpuMs(pid)
  const begunAt = performance.now()
  const done = await work()
  const tookMs = performance.now() - begunAt
  return { done, tookMs, cpuMs: (await servingCpuMs(pid)) - cpuBefore }
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
