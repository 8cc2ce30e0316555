import { constants, setPriority } from 'node:os'

/** The result of running a tool. `output` has both streams, and is empty when they were passed through. */
export type ToolRun = { exitCode: number; output: string; seconds: number }

export type ToolOptions = {
  folder: string
  /** Added to this process's environment; undefined removes a variable. */
  environment?: Record<string, string | undefined>
  /** Passes the tool's output through to our own streams instead of collecting it. */
  stream?: boolean
  /** Leaves the processor to whatever else runs: for work that nobody waits for yet. */
  background?: boolean
}

/**
 * Runs the same Bun binary that runs this process, so that nothing needs to be on the PATH. Never throws when the tool fails. A SIGINT
 * or SIGTERM also stops the tool, so that it does not outlive its caller.
 */
export async function runBun(args: readonly string[], options: ToolOptions): Promise<ToolRun> {
  const startedAt = performance.now()
  const stream = options.stream === true
  const tool = Bun.spawn([process.execPath, ...args], {
    cwd: options.folder,
    env: { ...process.env, ...options.environment },
    stdin: 'ignore',
    stdout: stream ? 'inherit' : 'pipe',
    stderr: stream ? 'inherit' : 'pipe',
  })
  if (options.background) setPriority(tool.pid, constants.priority.PRIORITY_LOW)
  const stop = (signal: NodeJS.Signals) => tool.kill(signal)
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
  try {
    const [exitCode, stdout, stderr] = await Promise.all([tool.exited, textOf(tool.stdout), textOf(tool.stderr)])
    return { exitCode, output: stdout + stderr, seconds: secondsSince(startedAt) }
  } finally {
    process.off('SIGINT', stop)
    process.off('SIGTERM', stop)
  }
}

export function secondsSince(startedAt: number): number {
  return (performance.now() - startedAt) / 1000
}

async function textOf(stream: ReadableStream<Uint8Array> | undefined): Promise<string> {
  return stream === undefined ? '' : new Response(stream).text()
}
