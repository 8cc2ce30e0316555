import { parseArgs } from 'node:util'
import { Misused } from './control-client'
import type { Terminal } from './terminal'

/** One word after `gateway`. To add one: a file in `commands/`, and a line in `commands.ts`. */
export interface Command {
  readonly name: string
  readonly summary: string
  /** What `--help` prints below the first line. */
  readonly usage: string
  /** The words that may follow, for the shell's completion. */
  readonly words?: readonly string[]
  readonly run: (args: readonly string[], terminal: Terminal) => Promise<void>
}

export type Flags = NonNullable<Parameters<typeof parseArgs>[0]>['options']

/** Flags that every command that speaks to a gateway takes. */
export const COMMON_FLAGS = {
  url: { type: 'string' },
  json: { type: 'boolean' },
  'no-retry': { type: 'boolean' },
} as const satisfies Flags

export const COMMON_USAGE = `  --url URL     the gateway's address (else GATEWAY_URL, else the one signed in to, else http://localhost:3000)
  --json        prints the answer as JSON
  --no-retry    gives up at the first 429

With GATEWAY_API_KEY set, that key is used; else the sign-in of "gateway login".
`

/** The words and flags of a command. Throws `Misused` for what it does not know. */
export function parsed<const F extends NonNullable<Flags>>(args: readonly string[], options: F) {
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options: { ...COMMON_FLAGS, ...options } })
  } catch (error) {
    throw new Misused(error instanceof Error ? error.message : String(error))
  }
}

/** Exactly these words, each under its name; throws `Misused` for one too few or too many. */
export function words<const N extends readonly string[]>(
  what: string,
  given: readonly string[],
  names: N,
): { [K in N[number]]: string } {
  if (given.length !== names.length)
    throw new Misused(
      `"${what}" takes ${names.length === 0 ? 'no words' : names.map((name) => name.toUpperCase()).join(' ')}; see --help`,
    )
  return Object.fromEntries(names.map((name, i) => [name, given[i] ?? ''])) as { [K in N[number]]: string }
}
