import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { chmod, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { indexSources } from '../../server/compose/search/index-sources'
import { freePort } from '../../server/listen'
import { writeSmallIndex } from '../support/servers/small-index'
import { benchSettings, braveSettings } from './bench-gateway'

/**
 * Where the server under test runs (`BENCH_SERVER_CORES=0,1` for an experiment with both cores), and where everything that feeds
 * it does (`BENCH_FEEDER_CORES`): nothing of the one takes time of the other.
 */
export const SERVER_CORE = process.env['BENCH_SERVER_CORES'] ?? '0'
export const FEEDER_CORE = process.env['BENCH_FEEDER_CORES'] ?? '1'

const ROOT = join(import.meta.dir, '..', '..')
const READY_MS = 120_000

/** A process of this run. It obeys lines on its stdin, and ends when they end. */
export interface Helper {
  readonly pid: number
  /** Its line that began with `ready`; of a gateway that was started as users start it, its port. */
  readonly ready: string
  /** Sends a line and gives the next line that it says. */
  ask(line: string): Promise<string>
  /** SIGTERM; resolves to the exit code. */
  stop(): Promise<number>
}

/**
 * The processes and folders that a run makes. They go when the run ends, however it ends: by pid, never by name, and the
 * helpers watch their stdin, so that not even kill -9 of the run leaves one behind.
 */
export class Workshop {
  private readonly pids = new Set<number>()
  private readonly folders = new Set<string>()
  private readonly parent: string
  /** The checkout whose programs it starts. */
  private readonly root: string

  constructor(parent: string | null, root = ROOT) {
    this.parent = parent ?? tmpdir()
    this.root = root
    process.on('exit', () => this.clear())
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130))
  }

  async folder(name: string): Promise<string> {
    const folder = await mkdtemp(join(this.parent, `bench-${name}-`))
    this.folders.add(folder)
    return folder
  }

  /** Another one, for a checkout of another commit. */
  at(root: string): Workshop {
    return new Workshop(this.parent, root)
  }

  removeFolder(folder: string): void {
    this.folders.delete(folder)
    // A process that was just killed may still be writing its last file.
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
  }

  /** Starts `tests/bench/FILE` on a core, and resolves when it says that it is ready. */
  helper(file: string, args: readonly string[], core: string, env: Record<string, string> = {}): Promise<Helper> {
    return this.start([process.execPath, join('tests', 'bench', file), ...args], { core, env, ready: /^ready ?(.*)/ })
  }

  /**
   * Starts the gateway as its users do, on a data folder, with the search upstream of an address. Its index is a small one, so that
   * none is built while it is measured.
   */
  async gateway(
    folder: string,
    upstream: string,
    more: Record<string, string> = {},
    { port, core } = { port: freePort('127.0.0.1'), core: SERVER_CORE },
  ): Promise<Helper> {
    const { indexPath, ...sources } = indexSources(folder)
    if (!existsSync(indexPath)) await writeSmallIndex(indexPath, sources)
    await chmod(indexPath, 0o600)
    const env = {
      PAYMENTS: 'off',
      ...benchSettings(folder, port),
      ...braveSettings(upstream),
      ...more,
    }
    const command = [process.execPath, join('server', 'main.ts')]
    const started = await this.start(command, { core, env, ready: /^Gateway ready at / })
    return { ...started, ready: String(port) }
  }

  /** Runs a helper to its `ready` line and ends it. Gives what it said. */
  async once(file: string, args: readonly string[]): Promise<string> {
    const helper = await this.helper(file, args, FEEDER_CORE)
    await helper.stop()
    return helper.ready
  }

  /** `ready`: what the line looks like that says so, and in it what it says. */
  private async start(
    command: readonly string[],
    { core, env, ready: readyLine }: { core: string; env: Record<string, string>; ready: RegExp },
  ): Promise<Helper> {
    const child = Bun.spawn(onCore(core, command), {
      cwd: this.root,
      env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...env },
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'inherit',
    })
    this.pids.add(child.pid)
    void child.exited.then(() => this.pids.delete(child.pid))
    const lines = readLines(child.stdout)
    const next = async () => {
      const line = await Promise.race([lines.next(), Bun.sleep(READY_MS)])
      if (!line) throw new Error(`${command.join(' ')} said nothing for ${READY_MS} ms`)
      if (line.done) throw new Error(`${command.join(' ')} ended with code ${await child.exited}`)
      return line.value
    }
    let ready = readyLine.exec(await next())
    while (!ready) ready = readyLine.exec(await next())
    return {
      pid: child.pid,
      ready: ready[1] ?? '',
      async ask(line) {
        child.stdin.write(`${line}\n`)
        await child.stdin.flush()
        return next()
      },
      stop() {
        child.kill('SIGTERM')
        return child.exited
      },
    }
  }

  /** A foreign server that says nothing we know: ready when its port answers. `stop` ends it and what it started. */
  async foreign(
    command: readonly string[],
    cwd: string,
    port: number,
    core: string,
  ): Promise<{ pid: number; stop(): void }> {
    const child = Bun.spawn(onCore(core, command), { cwd, stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' })
    this.pids.add(child.pid)
    void child.exited.then(() => this.pids.delete(child.pid))
    for (let tries = 0; !(await answers(port)); tries++) {
      if (child.exitCode !== null || tries > 200) throw new Error(`${command.join(' ')} did not listen on ${port}`)
      await Bun.sleep(50)
    }
    return { pid: child.pid, stop: () => killTree(child.pid) }
  }

  private clear(): void {
    for (const pid of this.pids) killTree(pid)
    for (const folder of this.folders) this.removeFolder(folder)
  }
}

/** The command, bound to one core where the machine can do that. */
export function onCore(core: string, command: readonly string[]): string[] {
  return Bun.which('taskset') ? ['taskset', '-c', core, ...command] : [...command]
}

/** Lines on our own stdin, and the end of the process with the end of them: the other side of `Helper`. */
export async function obey(commands: Readonly<Record<string, () => string | Promise<string>>>): Promise<never> {
  for await (const line of readLines(Bun.stdin.stream())) {
    const command = commands[line]
    process.stdout.write(`${command ? await command() : 'what?'}\n`)
  }
  process.exit(0)
}

async function* readLines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of stream) {
    rest += decoder.decode(chunk, { stream: true })
    const lines = rest.split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
}

async function answers(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/`).then(
    () => true,
    () => false,
  )
}

function killTree(pid: number): void {
  for (const child of childrenOf(pid)) killTree(child)
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
    )
  } catch {
    return []
  }
}
