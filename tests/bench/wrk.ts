import { join } from 'node:path'
import { type CpuTime, cpuTime, residentMb } from './proc'
import { FEEDER_CORE, onCore } from './workshop'

/** The results of one run of the generator. Times in microseconds. */
export interface Burst {
  readonly requests: number
  readonly rps: number
  readonly p50: number
  readonly p99: number
  readonly p999: number
  /** Answers of 400 and above. */
  readonly refused: number
  /** Connections that failed, and requests without an answer. */
  readonly broken: number
  /** Of the server, until what it put off was done as well. */
  readonly cpu: number
  readonly mainCpu: number
  /** CPU of each of the others. */
  readonly others: readonly number[]
  /** Of the server, right after the burst. */
  readonly residentMb: number
}

export interface Target {
  readonly url: string
  readonly pid: number
  /** Other processes that work for the same calls. */
  readonly others?: readonly number[]
  readonly script: 'rotate-keys.lua' | 'models.lua' | 'challenges.lua'
  readonly args: readonly string[]
}

const running = new Set<Bun.Subprocess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** Makes sure that wrk is there; a reason in words when it cannot be. */
export async function wrkProblem(): Promise<string | null> {
  if (Bun.which('wrk')) return null
  if (process.getuid?.() !== 0 || !Bun.which('apt-get'))
    return 'wrk is not installed, and this user cannot install it: run "apt-get install -y wrk" as root'
  process.stderr.write('installing wrk\n')
  for (const command of [
    ['apt-get', 'update'],
    ['apt-get', 'install', '-y', 'wrk'],
  ])
    await Bun.spawn(command, { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' }).exited
  return Bun.which('wrk') ? null : 'wrk is not installed, and "apt-get install -y wrk" failed'
}

const LOOK_MS = 100
/** Less than this between two looks is idle. */
const IDLE_US = 3000
const MAX_LOOKS = 200

/** The time on the processor when a server has nothing left to do: what it does behind its answers is part of their price. */
async function settled(pid: number): Promise<CpuTime> {
  let time = cpuTime(pid)
  for (let looks = 0, quiet = 0; quiet < 3 && looks < MAX_LOOKS; looks++) {
    await Bun.sleep(LOOK_MS)
    const now = cpuTime(pid)
    quiet = now.process - time.process < IDLE_US ? quiet + 1 : 0
    time = now
  }
  return time
}

/** Loads a server with `connections` closed loops for some seconds, and takes its CPU time meanwhile. */
export async function burst(target: Target, connections: number, seconds: number): Promise<Burst> {
  const script = join(import.meta.dir, target.script)
  const command = ['wrk', '-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s', '-s', script, target.url]
  const { others = [] } = target
  const [before, othersBefore] = [cpuTime(target.pid), others.map(cpuTime)]
  const child = Bun.spawn(onCore(FEEDER_CORE, [...command, '--', ...target.args]), { stdout: 'pipe', stderr: 'pipe' })
  running.add(child)
  const said = await new Response(child.stdout).text()
  await child.exited
  const mb = residentMb(target.pid)
  const after = await settled(target.pid)
  running.delete(child)
  const line = /JSON (\{.*\})/.exec(said)?.[1]
  if (!line) throw new Error(`wrk: ${said}${await new Response(child.stderr).text()}`)
  const { requests, us, p50, p99, p999, refused, broken } = JSON.parse(line) as Record<string, number>
  if (!requests) throw new Error(`wrk got no answer from ${target.url}`)
  const each = (total: number) => total / Math.max(1, requests ?? 0)
  return {
    requests: requests ?? 0,
    rps: (requests ?? 0) / ((us ?? 1) / 1e6),
    p50: p50 ?? 0,
    p99: p99 ?? 0,
    p999: p999 ?? 0,
    refused: refused ?? 0,
    broken: broken ?? 0,
    cpu: each(after.process - before.process),
    mainCpu: each(after.main - before.main),
    others: others.map((pid, i) => each(cpuTime(pid).process - (othersBefore[i]?.process ?? 0))),
    residentMb: mb,
  }
}
