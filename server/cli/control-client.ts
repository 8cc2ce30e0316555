import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'

const SOCKET = 'control.sock'

/** A valid command that failed: exit code 1. */
export class Refused extends Error {}

/** An invalid command. Nothing was sent: exit code 2. */
export class UsageError extends Error {}

/** Sends an operator command to the running server, over the socket in its data folder. */
export async function askServer(command: string, body: Readonly<Record<string, unknown>>): Promise<unknown> {
  const folder = resolve(process.env['DATA_DIR'] || 'data')
  const unix = join(folder, SOCKET)
  if (!existsSync(unix))
    throw new Refused(`no gateway is running on ${folder}. Start it with "bun run up", or set DATA_DIR`)
  const answer = await fetch(`http://gateway/${command}`, {
    unix,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }).catch((error: unknown) => {
    throw new Refused(`the gateway on ${folder} does not answer: ${error instanceof Error ? error.message : error}`)
  })
  const result = (await answer.json()) as { error?: { code: string; message: string } }
  if (result.error) throw new Refused(`${result.error.message} (${result.error.code})`)
  return result
}
