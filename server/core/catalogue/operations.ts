import { IMAGE_SEARCH } from './image-search'
import { LLM_CONTEXT } from './llm-context'
import { MODEL_OPERATIONS, type Operation, type OperationName, type SoldName } from './operation'

/** Everything that is sold now. */
export const OPERATIONS = { 'image-search': IMAGE_SEARCH, 'llm-context': LLM_CONTEXT } as const satisfies Record<
  OperationName,
  Operation
>

/** What a charge of an operation counts. */
export function unitOf(operation: string): string {
  return isOperationName(operation) ? OPERATIONS[operation].unit : 'request'
}

export function isOperationName(name: string): name is OperationName {
  return Object.hasOwn(OPERATIONS, name)
}

/** The names of everything that is sold: what a key can be narrowed to, and what usage counts. */
export const SOLD: readonly SoldName[] = [...Object.values(OPERATIONS).map(({ name }) => name), ...MODEL_OPERATIONS]

export function isSold(name: string): name is SoldName {
  return SOLD.some((sold) => sold === name)
}
