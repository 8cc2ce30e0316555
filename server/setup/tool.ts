import { constants, setPriority } from 'node:os'

/** The result of running a tool. `output` has both streams, and is empty when they were passed through. */
export type ToolRun = { exitCode: number; output: string; seconds: number }

export type ToolOptions = {
  folder: string
  /** Added to this process's environment; undefined removes a variable. */
  environment?: Record<string, string | undefined>
  /** Passes the tool's output through to our own streams instead of collecting it. */
  stream?: boolean
  /** Leaves the processor to other work: for work without a waiter yet. */
  background?: boolean
}

/** Without the compiler for code that runs for long, which costs 7 % of the processor time of the tests: tools end before it pays. */
const QUICK_TO_START = {
  BUN_JSC_useFTLJIT: '0',
  // Collects no garbage before there are 512 MB, and then when the heap has grown to four times of what lives, not two: 12 % less.
  BUN_JSC_largeHeapSize: String(512 * 1024 ** 2),
  BUN_JSC_smallHeapGrowthFactor: '4',
  BUN_JSC_mediumHeapGrowthFactor: '4',
  // Keeps free memory, which a thread of its own would look for and give back to the system: 4 to 8 % less.
  MIMALLOC_PURGE_DELAY: '-1',
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
    env: { ...process.env, ...QUICK_TO_START, ...options.environment },
    stdin: 'ignore',
    stdout: stream ? 'inherit' : 'pipe',
    stderr: stream ? 'inherit' : 'pipe',
  })
  if (options.background) setPriority(tool.pid, constants.priority.PRIORITY_LOW)
  const stop = (signal: NodeJS.Signals) => tool.kill(signal)
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
  try {
    const [exitCode, stdout, stderr] = await Promise.all([
      tool.exited,
      streamText(tool.stdout),
      streamText(tool.stderr),
    ])
    return { exitCode, output: stdout + stderr, seconds: secondsSince(startedAt) }
  } finally {
    process.off('SIGINT', stop)
    process.off('SIGTERM', stop)
  }
}

export function secondsSince(startedAt: number): number {
  return (performance.now() - startedAt) / 1000
}

async function streamText(stream: ReadableStream<Uint8Array> | undefined): Promise<string> {
  return stream === undefined ? '' : new Response(stream).text()
}
