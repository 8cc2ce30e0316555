import { IMAGE_SEARCH } from './image-search'
import { LLM_CONTEXT } from './llm-context'
import type { Operation, OperationName } from './operation'

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
