import type { Scope } from '../credentials/oauth-grant'
import type { Money } from '../money'
import { err, type Result } from '../result'
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

/** Operations billed per token, character, picture or part (core/models). Each model sets its own prices. */
export const MODEL_OPERATIONS = [
  'chat-completions',
  'responses',
  'completions',
  'messages',
  'generate-content',
  'count-tokens',
  'embeddings',
  'moderations',
  'image-generation',
  'image-edit',
  'speech',
  'transcription',
  'rerank',
  'deep-research',
] as const

export type ModelOperationName = (typeof MODEL_OPERATIONS)[number]

/** An operation that an operator put on sale: `{api}.{operationId}` (core/apis). */
export type ImportedName = `${string}.${string}`

/** The operations that are compiled in. */
export type BuiltInName = OperationName | ModelOperationName

/** Everything that is sold. */
export type SoldName = BuiltInName | ImportedName

/** A price that an operator can override. An operation's base price has its name; prices that depend on the input have their own. */
export type BasePriceName = OperationName | 'social-post-with-address'

/** A price that an operator can set for everyone or for one account. Of an imported operation: the price of a call, or of a block of units. */
export type PriceName = BasePriceName | ImportedName

/** The version of the data catalog (spec 1), and the price version of every price without an override. */
export const CATALOG_VERSION = '2.0.0'

/** The price of one unit that applies to an account. */
export interface Price {
  readonly amount: Money
  /** The catalog version, or the id of the operator's override. */
  readonly version: string
}

/** A billable operation: routes, parameters and price. HTTP, MCP and the documentation are generated from it. */
export interface Operation<T extends ParameterTable = ParameterTable> {
  readonly name: OperationName
  readonly title: string
  readonly description: string
  readonly path: string
  readonly methods: readonly ('GET' | 'POST')[]
  readonly parameters: T
  /** Returns what is wrong between parameters that are each valid alone. */
  between?(input: Parameters<T>): readonly ParameterError[]
  /** The price of one unit of a successful request (spec 1.3). */
  readonly price: Money
  /** The name of the unit. `request` for a fixed price per call. */
  readonly unit: string
  /** How the price depends on the input. Without it, a call costs one unit. */
  readonly metering?: Metering<Parameters<T>>
  /** The scope that an app needs to call it (spec D10). */
  readonly scope: Scope
  /** Whether callers without a key can pay per call (spec 5.3): data endpoints with a fixed price. */
  readonly payable?: true
  /**
   * The operation changes something upstream, so it is sent only once. It continues when the caller disconnects. If the upstream
   * does not answer, the outcome is reported as unknown.
   */
  readonly effect?: 'write'
  /** Whether a call counts towards the concurrency limit (spec 8): streaming and long-running operations do. */
  readonly takesConcurrency: boolean
  /** Deadline of the upstream call. */
  readonly timeoutMs: number
  readonly example: Readonly<Record<string, string>>
}

/** How the price of a call depends on its input. */
export interface Metering<I> {
  priceName(input: I): BasePriceName
  /** The maximum number of units for this input. They are held; the response's own number is charged (`ProviderAnswer.units`). */
  maxUnits(input: I): number
}

export function parseInput<T extends ParameterTable>(
  operation: Operation<T>,
  raw: RawInput,
): Result<Parameters<T>, readonly ParameterError[]> {
  const read = parseParameters(operation.parameters, raw)
  const wrong = read.ok ? (operation.between?.(read.value) ?? []) : []
  return wrong.length > 0 ? err(wrong) : read
}
