import type { Money } from '../money'
import type { Result } from '../result'
import { type ParameterError, type Parameters, type ParameterTable, parseParameters, type RawInput } from './parameters'

export type OperationName = 'image-search' | 'llm-context'

/** The version of the data catalogue (spec 1). It is also the price version of a price that nobody overrode. */
export const CATALOGUE_VERSION = '2.0.0'

/** A fixed price per successful request (spec 1.3). */
export interface Price {
  readonly amount: Money
  /** The catalogue version, or the id of the operator's override. */
  readonly version: string
}

/** One thing that is sold: its routes, its parameters, its price. HTTP, MCP and the documents are made from it. */
export interface Operation<T extends ParameterTable = ParameterTable> {
  readonly name: OperationName
  readonly title: string
  readonly description: string
  readonly path: string
  readonly methods: readonly ('GET' | 'POST')[]
  readonly parameters: T
  readonly price: Money
  /** Streaming and long-running operations take a concurrency place (spec 8); data endpoints do not. */
  readonly takesConcurrency: boolean
  /** Deadline of the upstream call. */
  readonly timeoutMs: number
  readonly example: Readonly<Record<string, string>>
}

export function parseInput<T extends ParameterTable>(
  operation: Operation<T>,
  raw: RawInput,
): Result<Parameters<T>, readonly ParameterError[]> {
  return parseParameters(operation.parameters, raw)
}
