import { chmod, readFile, rm } from 'node:fs/promises'
import { availableParallelism, totalmem } from 'node:os'
import { join } from 'node:path'
import { runBun, type ToolRun } from '../server/setup/tool'
import { temporaryFolder } from './temporary-folder'
import { countTests, type TestCount } from './test-report'

/** The checks in addition to the tests. Each is a script of package.json. */
export const STATIC_CHECKS = ['lint', 'types', 'unused'] as const

/** The maximum memory of a worker, with its browser and the servers that it starts. */
const WORKER_BYTES = 2 * 1024 ** 3

/**
 * More than there are cores: a worker waits for disks, chains, browsers and servers for more than half of its time. The workers keep what
 * they loaded from file to file: loading it anew for each took a third of the processor time of the suite. The slowest files go first.
 */
const WORKERS = Math.max(2, Math.min(availableParallelism() + 3, Math.floor(totalmem() / WORKER_BYTES)))
const PARALLEL = [`--parallel=${WORKERS}`, '--no-isolate', '--timings=tests/timings.json'] as const

/**
 * Runs one script of package.json, in the time that the tests leave to it: they take longer than all checks. Its tools run on Bun as
 * well, so that it needs no Node.
 */
export function runScript(root: string, name: string): Promise<ToolRun> {
  return runBun(['--bun', 'run', '--silent', name], { folder: root, background: true })
}

/**
 * Runs all tests in the folder and streams their output. They find programs on `path`, and get their own temporary folder, which is removed afterwards.
 */
export async function runTests(
  folder: string,
  path = process.env['PATH'],
): Promise<ToolRun & { count: TestCount; report: string | null }> {
  const temporary = await temporaryFolder('verify-')
  // PostgreSQL runs as another user, in a folder of its own in it.
  await chmod(temporary, 0o711)
  const report = join(temporary, 'report.xml')
  try {
    const run = await runBun(['test', ...PARALLEL, '--reporter=junit', `--reporter-outfile=${report}`], {
      folder,
      environment: { TMPDIR: temporary, PATH: path },
      stream: true,
    })
    const written = await readFile(report, 'utf8').catch(() => null)
    return { ...run, count: countTests(written, run.exitCode), report: written }
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
}
