import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'

const SOCKET = 'control.sock'

/** The command was understood and could not be carried out: exit code 1. */
export class Refused extends Error {}

/** The command itself is wrong and nothing was sent: exit code 2. */
export class Misused extends Error {}

/** Sends one operator's command to the running server, over the socket in its data folder. */
export async function askServer(command: string, body: Readonly<Record<string, unknown>>): Promise<unknown> {
  const folder = resolve(process.env['DATA_DIR'] || 'data')
  const unix = join(folder, SOCKET)
  if (!existsSync(unix)) throw new Refused(`no gateway runs on ${folder}: start it with "bun run up", or set DATA_DIR`)
  const answer = await fetch(`http://gateway/${command}`, {
    unix,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }).catch((error: unknown) => {
    throw new Refused(`the gateway on ${folder} does not answer: ${error instanceof Error ? error.message : error}`)
  })
  const said = (await answer.json()) as { error?: { code: string; message: string } }
  if (said.error) throw new Refused(`${said.error.message} (${said.error.code})`)
  return said
}
