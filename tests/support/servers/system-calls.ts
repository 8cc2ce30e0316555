import { readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Where the machine has no strace, or forbids it, tests that trace are skipped and counted as skipped. */
export const canTrace =
  Bun.which('strace') !== null && Bun.spawnSync(['strace', '-f', '-o', '/dev/null', 'true']).success

/** The lines of strace about these system calls of a process, all its threads and their files, while `work` runs. */
export async function systemCalls(pid: number, calls: readonly string[], work: () => Promise<void>): Promise<string[]> {
  const file = join(tmpdir(), `strace-${crypto.randomUUID()}`)
  const which = `trace=${calls.join()}`
  const tracer = Bun.spawn(['strace', '-f', '-y', '-s', '24', '-e', which, '-o', file, '-p', String(pid)], {
    stderr: 'pipe',
  })
  const attached = Promise.withResolvers<void>()
  const listening = (async () => {
    for await (const chunk of tracer.stderr)
      if (new TextDecoder().decode(chunk).includes('attached')) attached.resolve()
  })()
  await attached.promise
  await work()
  tracer.kill('SIGINT')
  await Promise.all([tracer.exited, listening])
  const lines = (await readFile(file, 'utf8')).split('\n')
  await rm(file)
  return lines
}
