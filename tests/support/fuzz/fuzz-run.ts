import { readFile } from 'node:fs/promises'
import { type Reconciliation, reconcile } from '../reconcile'
import { dataFolder, FREES_MEMORY, removeFolder, type ServerProcess, startServer } from '../servers/server-process'
import type { Attempt, World } from './attempt'
import { type Document, operationsOf } from './document'
import { attempts } from './generator'
import { judge } from './judge'
import { Random } from './random'
import { RawConnection } from './raw-connection'
import { makeWorld } from './world'

/** AppGrants that ask at the same time. */
const LANES = 12
/** An answer that takes longer is a hang. Generous: the machine may be busy, and a sign-in is slow on purpose. */
const DEADLINE_MS = 15_000
const PAUSE_MS = 2
const MAX_PROBLEMS = 50
const SERVER = { ANON_RPM: '1000000', SIGNUP_RPM: '20', LOG_LEVEL: 'warn', ...FREES_MEMORY }

export interface FuzzReport {
  readonly seed: number
  readonly requests: number
  readonly seconds: number
  /** How often each status, or way to end without one, came. */
  readonly outcomes: ReadonlyMap<string, number>
  /** The first broken promises, with the way to see them again. */
  readonly problems: readonly string[]
  readonly problemCount: number
  /** The sum of X-Cost-Micros-USD over all answers; what the accounts lost; what the ledger says. All the same. */
  readonly seenMicros: number
  readonly spentMicros: number
  readonly ledger: Reconciliation
  readonly isReady: boolean
  readonly exitCode: number
  readonly rssBeforeMib: number
  readonly rssAfterMib: number
  /** The output of the server while it ran. */
  readonly log: string
}

/** Sends `requests` generated requests to a real server process over plain sockets, judges every answer, and reconciles. */
export async function fuzzRun(
  requests: number,
  seed: number,
  onProgress: (sent: number) => void = () => undefined,
): Promise<FuzzReport> {
  const folder = await dataFolder()
  let server: ServerProcess | null = null
  try {
    server = await startServer(folder, SERVER)
    const { world, balances, database } = await makeWorld(server, folder)
    const document: Document = await (await fetch(`${server.url}/openapi.json`)).json()
    const run = new Run(world, seed, onProgress)
    await run.ask(attempts(new Random(seed), operationsOf(document), world), Math.min(500, requests))
    const rssBeforeMib = await rssMib(server.pid)
    const before = await balances()
    const seenBefore = run.seenMicros
    const started = performance.now()
    await run.ask(attempts(new Random(seed + 1), operationsOf(document), world), requests)
    const seconds = (performance.now() - started) / 1000
    const spentMicros = before - (await balances())
    const isReady = (await fetch(`${server.url}/ready`)).status === 200
    const rssAfterMib = await rssMib(server.pid)
    const exitCode = await server.kill('SIGTERM')
    const ledger = await reconcile(database)
    if (ledger.chargedMicros !== run.seenMicros)
      run.problem(`the ledger charged ${ledger.chargedMicros}, answers said ${run.seenMicros}`)
    return {
      seed,
      requests: run.sent,
      seconds,
      outcomes: run.outcomes,
      problems: run.problems,
      problemCount: run.problemCount,
      seenMicros: run.seenMicros - seenBefore,
      spentMicros,
      ledger,
      isReady,
      exitCode,
      rssBeforeMib,
      rssAfterMib,
      log: server.output(),
    }
  } finally {
    await server?.kill('SIGKILL')
    await removeFolder(folder)
  }
}

async function rssMib(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Math.round(Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? Number.NaN) / 1024)
}

class Run {
  sent = 0
  seenMicros = 0
  problemCount = 0
  readonly outcomes = new Map<string, number>()
  readonly problems: string[] = []
  private readonly world: World
  private readonly seed: number
  private readonly onProgress: (sent: number) => void

  constructor(world: World, seed: number, onProgress: (sent: number) => void) {
    this.world = world
    this.seed = seed
    this.onProgress = onProgress
  }

  /** Has the lanes take attempts until `most` requests are sent in all. */
  async ask(source: Generator<Attempt, never>, most: number): Promise<void> {
    const lane = async () => {
      const connection = new RawConnection(this.world.port)
      while (this.sent < most && this.problemCount < MAX_PROBLEMS * 20) {
        const attempt = source.next().value
        this.sent += attempt.asked.length
        await this.make(attempt, connection)
        this.onProgress(this.sent)
      }
      connection.close()
    }
    await Promise.all(Array.from({ length: LANES }, lane))
  }

  problem(what: string): void {
    if (++this.problemCount <= MAX_PROBLEMS) this.problems.push(what)
  }

  private async make(attempt: Attempt, connection: RawConnection): Promise<void> {
    if (!connection.isOpen || attempt.bare !== null) {
      connection.close()
      await connection.open()
    }
    for (const [i, part] of attempt.parts.entries()) {
      if (i > 0) await Bun.sleep(PAUSE_MS)
      connection.send(part)
    }
    if (attempt.ending === 'half-close') connection.halfClose()
    if (attempt.ending === 'leave') {
      connection.close()
      return this.count('left')
    }
    for (const asked of attempt.asked) {
      const read = await connection.read(asked.method, DEADLINE_MS)
      const { outcome, problems, chargedMicros } = judge(attempt, asked, read)
      this.count(outcome)
      this.seenMicros += chargedMicros
      for (const what of problems) this.problem(this.told(attempt, what, read))
      if (typeof read === 'string') break
      // It said that it takes nothing more on this connection, whatever was sent behind.
      if (read.headers.get('connection')?.includes('close')) {
        connection.close()
        break
      }
    }
    if (attempt.isLast || attempt.bare !== null || connection.leftOver !== '') connection.close()
  }

  private count(outcome: string): void {
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1)
  }

  private told({ kind, parts }: Attempt, what: string, read: unknown): string {
    const said = typeof read === 'string' ? read : JSON.stringify(Reflect.get(Object(read), 'body')).slice(0, 300)
    return `seed ${this.seed}, ${kind}: ${what}\n    sent ${JSON.stringify(parts.join('|').slice(0, 700))}\n    got ${said}`
  }
}
