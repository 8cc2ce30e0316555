import { secondsSince } from './tool.ts'

/**
 * Runs a step and writes its name and duration to one line of stderr, as plain text that reads the same in a terminal, a pipe and a CI
 * log. Leaves stdout to the server. Rethrows failures.
 */
export async function step<T>(name: string, work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now()
  process.stderr.write(`${name} ... `)
  try {
    const result = await work()
    process.stderr.write(`${secondsSince(startedAt).toFixed(1)} s\n`)
    return result
  } catch (failure) {
    process.stderr.write('failed\n')
    throw failure
  }
}
