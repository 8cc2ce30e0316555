import type { Money } from '../money'
import type { Result } from '../result'
import { type ParameterError, type Parameters, type ParameterTable, parseParameters, type RawInput } from './parameters'

export type SocialOperationName =
  | 'social-follow'
  | 'social-unfollow'
  | 'social-like'
  | 'social-unlike'
  | 'social-post'
  | 'social-delete'
  | 'social-dm'
  | 'social-user'
  | 'social-dm-threads'

export type OperationName = 'image-search' | 'llm-context' | SocialOperationName

/** What is sold by the token or by its parts (core/models): its prices are the models'. */
export const MODEL_OPERATIONS = ['chat-completions', 'messages', 'generate-content', 'deep-research'] as const

export type ModelOperationName = (typeof MODEL_OPERATIONS)[number]

/** Everything that is sold. */
export type SoldName = OperationName | ModelOperationName

/** A price that an operator can override. An operation's own has its name; one that depends on the input has a name beside it. */
export type PriceName = OperationName | 'social-post-with-address'

/** The version of the data catalogue (spec 1). It is also the price version of a price that nobody overrode. */
export const CATALOGUE_VERSION = '2.0.0'

/** The price of one unit, as it is in force for an account. */
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
  /** Of one unit, per successful request (spec 1.3). */
  readonly price: Money
  /** What a unit is; `request` where a call costs a fixed price. */
  readonly unit: string
  /** How a price depends on the input; a fixed price of one unit where it is absent. */
  readonly metering?: Metering<Parameters<T>>
  /** Whether somebody without a key may pay for one call by itself (spec 5.3): data endpoints of a fixed price. */
  readonly payable?: true
  /**
   * It changes something outside, so it is sent once: a caller that hangs up does not end it, and what became of it when no
   * answer came is told as unknown.
   */
  readonly effect?: 'write'
  /** Streaming and long-running operations take a concurrency place (spec 8); data endpoints do not. */
  readonly takesConcurrency: boolean
  /** Deadline of the upstream call. */
  readonly timeoutMs: number
  readonly example: Readonly<Record<string, string>>
}

/** The price of a call that is not one unit of the operation's own price. */
export interface Metering<I> {
  priceName(input: I): PriceName
  /** The most units that an answer to this input can have: they are held. The answer says how many it was (`ProviderAnswer.units`). */
  mostUnits(input: I): number
}

export function parseInput<T extends ParameterTable>(
  operation: Operation<T>,
  raw: RawInput,
): Result<Parameters<T>, readonly ParameterError[]> {
  return parseParameters(operation.parameters, raw)
}
