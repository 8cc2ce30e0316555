import { secondsSince } from './tool.ts'

/**
 * Says what is being done, then how long it took, on one line of stderr: plain text, so that it reads the same in a
 * terminal, a pipe and a CI log, and stdout stays the server's. A failure goes on to the caller.
 */
export async function step<T>(doing: string, work: () => Promise<T>): Promise<T> {
  const began = performance.now()
  process.stderr.write(`${doing} ... `)
  try {
    const result = await work()
    process.stderr.write(`${secondsSince(began).toFixed(1)} s\n`)
    return result
  } catch (failure) {
    process.stderr.write('failed\n')
    throw failure
  }
}
