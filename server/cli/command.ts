import { parseArgs } from 'node:util'
import { UsageError } from './control-client'
import { PROGRAM } from './program'
import type { Terminal } from './terminal'

/** A command. To add one, create a file in `commands/` and add a line to `commands.ts`. */
export interface Command {
  readonly name: string
  readonly summary: string
  /** The text of `--help` after the name of the program and `name`. */
  readonly usage: string
  /** The words that may follow, for shell completion. */
  readonly words?: readonly string[]
  readonly run: (args: readonly string[], terminal: Terminal) => Promise<void>
}

export type Flags = NonNullable<Parameters<typeof parseArgs>[0]>['options']

/** The flags of every command that calls a gateway. */
export const COMMON_FLAGS = {
  url: { type: 'string' },
  json: { type: 'boolean' },
  'no-retry': { type: 'boolean' },
} as const satisfies Flags

export const COMMON_USAGE = `  --url URL     the gateway's URL (default: GATEWAY_URL, the gateway you signed in to, or http://localhost:PORT)
  --json        print the response as JSON
  --no-retry    fail at the first 429 instead of retrying

Uses the API key in GATEWAY_API_KEY if it is set, otherwise the sign-in of "${PROGRAM} login".
`

/** Parses the words and flags of a command. Throws `UsageError` for unknown flags. */
export function parsedArgs<const F extends NonNullable<Flags>>(args: readonly string[], options: F) {
  return parsedArgsWith(args, { ...COMMON_FLAGS, ...options })
}

/** The same for a command without the common flags, and perhaps without words. */
export function parsedArgsWith<const F extends NonNullable<Flags>>(
  args: readonly string[],
  options: F,
  allowPositionals = true,
) {
  try {
    return parseArgs({ args: [...args], allowPositionals, options })
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

/** Returns the words by name. Throws `UsageError` when there are too few or too many. */
export function words<const N extends readonly string[]>(
  what: string,
  given: readonly string[],
  names: N,
): { [K in N[number]]: string } {
  if (given.length !== names.length)
    throw new UsageError(
      `"${what}" takes ${names.length === 0 ? 'no arguments' : names.map((name) => name.toUpperCase()).join(' ')}; see --help`,
    )
  return Object.fromEntries(names.map((name, i) => [name, given[i] ?? ''])) as { [K in N[number]]: string }
}
