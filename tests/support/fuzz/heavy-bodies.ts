import { readFile } from 'node:fs/promises'
import { dataFolder, removeFolder, startServer } from '../server-process'
import { makeWorld } from './world'

/** Most CPU time that one request may take of the thread that serves everybody. */
const MAX_CPU_MS = 50
const TRIES = 7
const MIB = 1024 * 1024
const CHAT_BEGIN = '{"model":"sandbox/echo","max_tokens":5,"messages":[{"role":"user","content":"Hello"}]'

interface HeavyBody {
  readonly kind: string
  readonly path: string
  readonly body: string
}

interface HeavyReading {
  readonly kind: string
  readonly status: number
  /** The middle one of some tries: a collector that happens to run is nobody's attack. */
  readonly cpuMs: number
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

/** Sends each heavy body to a real server process, and reads what it took of the CPU of the thread that serves. */
export async function heavyRun(): Promise<readonly HeavyReading[]> {
  const folder = await dataFolder()
  const server = await startServer(folder, { ANON_RPM: '1000000', SIGNUP_RPM: '1000000', LOG_LEVEL: 'error' })
  try {
    const { world } = await makeWorld(server, folder)
    const send = async ({ path, body }: HeavyBody) => {
      const keyed = /^\/(v1|apis|mcp$)/.test(path)
      const answer = await fetch(server.url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(keyed && { authorization: `Bearer ${world.goodKey}` }) },
        body,
      })
      await answer.text()
      return answer.status
    }
    const readings: HeavyReading[] = []
    for (const heavy of heavyBodies()) {
      let status = await send(heavy)
      const tries: number[] = []
      for (let one = 0; one < TRIES; one++) {
        const before = await servingCpuMs(server.pid)
        status = await send(heavy)
        tries.push((await servingCpuMs(server.pid)) - before)
      }
      const cpuMs = tries.toSorted((a, b) => a - b)[Math.floor(TRIES / 2)] ?? 0
      readings.push({ kind: heavy.kind, status, cpuMs, fits: cpuMs <= MAX_CPU_MS && status < 500 })
    }
    return readings
  } finally {
    await server.kill('SIGKILL')
    await removeFolder(folder)
  }
}

/** The readings as lines to read, the worst first. */
export function heavyLines(readings: readonly HeavyReading[]): string[] {
  const worst = readings.toSorted((a, b) => b.cpuMs - a.cpuMs)
  return [
    `heavy bodies          ${readings.length}, at most ${MAX_CPU_MS} ms of the serving thread each`,
    ...worst.map(
      ({ kind, status, cpuMs, fits }) => `  ${fits ? ' ' : '!'} ${cpuMs.toFixed(1).padStart(6)} ms  ${status}  ${kind}`,
    ),
  ]
}

/** CPU time of a process's first thread, which runs its JavaScript. */
async function servingCpuMs(pid: number): Promise<number> {
  const [nanoseconds = ''] = (await readFile(`/proc/${pid}/task/${pid}/schedstat`, 'utf8')).split(' ')
  return Number(nanoseconds) / 1e6
}
