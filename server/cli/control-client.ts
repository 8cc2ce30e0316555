import { closeSync, existsSync, fsyncSync, openSync, renameSync, writeSync } from 'node:fs'
import { join, resolve } from 'node:path'

const SOCKET = 'control.sock'
/** More than the last line of a file has. */
const MAX_LINE = 1000

/** A valid command that failed: exit code 1. */
export class CommandRefused extends Error {}

/** An invalid command. Nothing was sent: exit code 2. */
export class UsageError extends Error {}

/** Whether a gateway runs on a data folder, or was killed there. */
export function hasServer(dataDir: string): boolean {
  return existsSync(join(dataDir, SOCKET))
}

/** Calls a route of the running server as its operator, over the socket in its data folder. */
export async function askServer(method: string, path: string, body?: unknown, dataDir?: string): Promise<unknown> {
  return resultOf(await ask(method, path, body, dataDir))
}

/**
 * Reads a file from a route, which is passed on piece by piece. Throws `CommandRefused` if it broke off. `end`: what its last line begins
 * with.
 */
export async function readFromServer(
  path: string,
  out: (text: string) => void,
  end: string | null = null,
): Promise<void> {
  const answer = await ask('GET', path)
  if (!answer.ok || !answer.body) {
    await resultOf(answer)
    return
  }
  const decoder = new TextDecoder()
  let tail = ''
  try {
    for await (const piece of answer.body) {
      const text = decoder.decode(piece, { stream: true })
      tail = (tail + text).slice(-MAX_LINE)
      out(text)
    }
  } catch (error) {
    // The reader has enough, such as `head`.
    if (Object(error).code === 'EPIPE') return
    throw error instanceof TypeError ? brokenOff(error.message) : error
  }
  if (end !== null && !tail.trimEnd().split('\n').at(-1)?.startsWith(end)) throw brokenOff('its last line is missing')
}

function brokenOff(reason: string): CommandRefused {
  return new CommandRefused(`the file is not complete: ${reason}. Run the command again`)
}

/** The same into a file, which has its name once it is complete. Until then, and if it broke off, it is `NAME.partial`. */
export async function saveFromServer(path: string, name: string, end: string | null): Promise<string> {
  const partial = `${name}.partial`
  const file = openSync(partial, 'w', 0o600)
  try {
    await readFromServer(path, (text) => writeSync(file, text), end)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  renameSync(partial, name)
  return `Wrote ${name}\n`
}

async function ask(
  method: string,
  path: string,
  body?: unknown,
  folder = resolve(process.env['DATA_DIR'] || 'data'),
): Promise<Response> {
  if (!hasServer(folder))
    throw new CommandRefused(`no gateway is running on ${folder}. Start it, or set DATA_DIR to its folder`)
  return fetch(`http://gateway${path}`, {
    unix: join(folder, SOCKET),
    method,
    ...(body !== undefined && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  }).catch((error: unknown) => {
    throw new CommandRefused(
      `the gateway on ${folder} does not answer: ${error instanceof Error ? error.message : error}`,
    )
  })
}

async function resultOf(answer: Response): Promise<unknown> {
  const result = (await recordOf(answer)) as { error?: { code: string; message: string } }
  if (result.error) throw new CommandRefused(`${result.error.message} (${result.error.code})`)
  return result
}

/** A long answer begins with spaces, each of which shows that it goes on. */
async function recordOf(answer: Response): Promise<unknown> {
  const decoder = new TextDecoder()
  let [text, dots] = ['', '']
  try {
    for await (const piece of answer.body ?? []) {
      text += decoder.decode(piece, { stream: true })
      if (text.trim() !== '') continue
      process.stderr.write('.')
      dots = '\n'
    }
    return JSON.parse(text)
  } catch (error) {
    throw new CommandRefused(`the gateway broke off its answer: ${error instanceof Error ? error.message : error}`)
  } finally {
    if (dots !== '') process.stderr.write(dots)
  }
}
