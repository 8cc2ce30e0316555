const RESTART_MS = 1000

/** Ends the process `$0` when standard input ends, as it does when this process dies. `$1`: for how many tenths of a second SIGTERM is enough. */
const GUARD = `read -r nothing; kill -TERM "$0"; n=0; while kill -0 "$0" && [ $n -lt "$1" ]; do sleep 0.1; n=$((n + 1)); done; kill -KILL "$0"`
/** As long as containers get. */
const END_TENTHS = 100

interface ChildOptions {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
  /** Writes nothing of what it says. */
  readonly isQuiet?: boolean
  /** Takes the lines; stdout if it is missing. */
  readonly write?: (line: string) => void
  readonly restartMs?: number
  /** How long it may take to end once this process is gone, in tenths of a second. */
  readonly endTenths?: number
}

/** A process that this one starts, with its name in front of each line that it writes. It does not outlive this one. */
export class ChildProcess {
  readonly name: string
  /** Where it listens. */
  address: string | null = null
  private readonly command: readonly string[]
  private readonly options: ChildOptions
  private child: Bun.Subprocess
  private restarts = false

  constructor(name: string, command: readonly string[], options: ChildOptions) {
    this.name = name
    this.command = command
    this.options = options
    this.child = this.start()
  }

  get pid(): number {
    return this.child.pid
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null
  }

  /** From here on it is started again when it ends. */
  keepRunning(): void {
    this.restarts = true
    void this.watch()
  }

  startNoMore(): void {
    this.restarts = false
  }

  /** SIGTERM; resolves when it has ended. */
  async stop(): Promise<void> {
    this.startNoMore()
    this.child.kill('SIGTERM')
    await this.child.exited
  }

  kill(): void {
    this.child.kill('SIGKILL')
  }

  private write(line: string): void {
    ;(this.options.write ?? console.log)(line)
  }

  private start(): Bun.Subprocess {
    const { cwd, env, isQuiet } = this.options
    const output = isQuiet ? 'ignore' : 'pipe'
    const child = Bun.spawn([...this.command], {
      cwd,
      ...(env && { env }),
      // Not in the terminal's group: Ctrl-C would stop the database before those who write to it.
      detached: true,
      stdin: 'ignore',
      stdout: output,
      stderr: output,
    })
    for (const stream of [child.stdout, child.stderr]) if (stream) void this.pass(stream)
    guard(child, this.options.endTenths ?? END_TENTHS)
    return child
  }

  private async watch(): Promise<void> {
    await this.child.exited
    if (!this.restarts) return
    const { exitCode, signalCode } = this.child
    this.write(`${this.name} | ended (${signalCode ?? `exit code ${exitCode}`}); starts again`)
    await Bun.sleep(this.options.restartMs ?? RESTART_MS)
    if (!this.restarts) return
    this.child = this.start()
    this.write(`${this.name} | pid ${this.child.pid}`)
    await this.watch()
  }

  private async pass(stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder()
    let rest = ''
    for await (const bytes of stream) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) this.write(`${this.name} | ${line}`)
    }
  }
}

/** Ends the process when this one is gone, also by SIGKILL. */
function guard(child: Bun.Subprocess, endTenths: number): void {
  const options = { detached: true, stdin: 'pipe', stdout: 'ignore', stderr: 'ignore' } as const
  const watching = Bun.spawn(['sh', '-c', GUARD, `${child.pid}`, `${endTenths}`], options)
  watching.unref()
  // Later the number may be that of another process.
  void child.exited.then(() => watching.kill('SIGKILL'))
}
