import { UsageError } from '../control-client'
import type { Columns } from '../record-text'

/** The arguments and options of a command, by name; of a flag: whether it is set. */
export type Given = Readonly<Record<string, string | boolean | undefined>>

interface Described {
  /** Its one or two words. */
  readonly words: string
  /** Its help. */
  readonly about: string
  /** The meaning of words in its usage, and more. */
  readonly legend?: string
}

/** A command that calls a route and prints its record. */
export interface RouteCommand extends Described {
  /** Method and path below `/api/operator`. The arguments and options that are not in the path are its query or its body. */
  readonly route: string | ((given: Given) => string)
  /** The names of the arguments. Those that end in `?` may be left out. */
  readonly args?: readonly string[]
  /** The options, with the placeholder of their value; true: they have none. */
  readonly options?: Readonly<Record<string, string | true>>
  /** The options that must be given. */
  readonly needs?: readonly string[]
  /** Whether it takes `--limit` and `--cursor`. */
  readonly isPaged?: boolean
  /** The parameters of the route, if they are not the arguments and options as they are. */
  readonly read?: (given: Given) => Readonly<Record<string, unknown>> | Promise<Readonly<Record<string, unknown>>>
  /** What is printed, if it is not the answer. */
  readonly more?: (answer: Readonly<Record<string, unknown>>, given: Given) => object | Promise<object>
  /** Prints the answer. Default: as facts and tables. A method, so that each may name its own record. */
  print?(answer: object): string
  readonly columns?: Columns
  /** Its answer as a CSV file, with `--csv` or only. `end`: what its last line begins with. */
  readonly file?: { readonly end: string | null; readonly isOnly?: boolean }
}

/** What commands of their own need. */
export interface CommandTools {
  /** Asks a person at the terminal. False where there is none. */
  readonly ask: (question: string) => boolean
  /** Writes a line for people who wait. */
  readonly tell: (line: string) => void
}

/** A command that does more than to call one route. `args`: those after its words. */
export interface OwnCommand extends Described {
  readonly usage: string
  readonly run: (args: readonly string[], tools: CommandTools) => Promise<string>
}

export type OperatorCommand = RouteCommand | OwnCommand

/** Null with `--none`, and else the value, which must be given then. */
export function noneOr<T>(none: string | boolean | undefined, value: T | undefined, name: string): T | null {
  if ((none === true) === (value !== undefined)) throw new UsageError(`give ${name}, or --none; see --help`)
  return value ?? null
}
