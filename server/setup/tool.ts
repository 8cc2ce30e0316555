/** How one run of a tool went. `output` is what it wrote to both streams, empty when it was streamed through. */
export type ToolRun = { exitCode: number; output: string; seconds: number }

export type ToolOptions = {
  folder: string
  /** Laid over this process's environment; undefined takes a variable away. */
  environment?: Record<string, string | undefined>
  /** Let the tool write to our own streams as it goes, instead of collecting what it says. */
  stream?: boolean
}

/**
 * Runs Bun itself, the very binary that runs this, so that nothing need be on the PATH. Never throws for a failing
 * tool. A SIGINT or SIGTERM meanwhile ends the tool as well: nothing keeps writing after its caller is gone.
 */
export async function runBun(args: readonly string[], options: ToolOptions): Promise<ToolRun> {
  const began = performance.now()
  const stream = options.stream === true
  const tool = Bun.spawn([process.execPath, ...args], {
    cwd: options.folder,
    env: { ...process.env, ...options.environment },
    stdin: 'ignore',
    stdout: stream ? 'inherit' : 'pipe',
    stderr: stream ? 'inherit' : 'pipe',
  })
  const stop = (signal: NodeJS.Signals) => tool.kill(signal)
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
  try {
    const [exitCode, said, complained] = await Promise.all([tool.exited, textOf(tool.stdout), textOf(tool.stderr)])
    return { exitCode, output: said + complained, seconds: secondsSince(began) }
  } finally {
    process.off('SIGINT', stop)
    process.off('SIGTERM', stop)
  }
}

export function secondsSince(began: number): number {
  return (performance.now() - began) / 1000
}

async function textOf(stream: ReadableStream<Uint8Array> | undefined): Promise<string> {
  return stream === undefined ? '' : new Response(stream).text()
}
