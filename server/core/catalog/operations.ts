import type { Money } from '../money'
import { IMAGE_SEARCH } from './image-search'
import { LLM_CONTEXT } from './llm-context'
import {
  type BasePriceName,
  type BuiltInName,
  type ImportedName,
  MODEL_OPERATIONS,
  type Operation,
  type OperationName,
  type SoldName,
} from './operation'
import {
  POST_WITH_ADDRESS_PRICE,
  SOCIAL_DELETE,
  SOCIAL_DM,
  SOCIAL_DM_THREADS,
  SOCIAL_FOLLOW,
  SOCIAL_LIKE,
  SOCIAL_POST,
  SOCIAL_UNFOLLOW,
  SOCIAL_UNLIKE,
  SOCIAL_USER,
} from './social-actions'

/** All operations of the catalog. */
export const OPERATIONS = {
  'image-search': IMAGE_SEARCH,
  'llm-context': LLM_CONTEXT,
  'social-follow': SOCIAL_FOLLOW,
  'social-unfollow': SOCIAL_UNFOLLOW,
  'social-like': SOCIAL_LIKE,
  'social-unlike': SOCIAL_UNLIKE,
  'social-post': SOCIAL_POST,
  'social-delete': SOCIAL_DELETE,
  'social-dm': SOCIAL_DM,
  'social-user': SOCIAL_USER,
  'social-dm-threads': SOCIAL_DM_THREADS,
} as const satisfies Record<OperationName, Operation>

/** Prices that depend on the input, in addition to the base prices. */
const INPUT_PRICES: Readonly<Record<Exclude<BasePriceName, OperationName>, Money>> = {
  'social-post-with-address': POST_WITH_ADDRESS_PRICE,
}

/** The catalog price of one unit. */
export function catalogPrice(name: BasePriceName): Money {
  return isOperationName(name) ? OPERATIONS[name].price : INPUT_PRICES[name]
}

/** All prices that an operator can override. */
export const PRICE_NAMES: readonly BasePriceName[] = [
  ...Object.values(OPERATIONS).map(({ name }) => name),
  'social-post-with-address',
]

/** The unit that an operation is charged by. */
export function unitOf(operation: string): string {
  return isOperationName(operation) ? OPERATIONS[operation].unit : 'request'
}

export function isOperationName(name: string): name is OperationName {
  return Object.hasOwn(OPERATIONS, name)
}

/** The names of all billable operations that are compiled in. Keys can be restricted to them, and usage is counted by them. */
export const SOLD: readonly BuiltInName[] = [...Object.values(OPERATIONS).map(({ name }) => name), ...MODEL_OPERATIONS]

/** Whether calls of this name are sold: a built-in operation, or one of an imported API, on sale now or earlier. */
export function isSold(name: string): name is SoldName {
  return SOLD.some((sold) => sold === name) || isImportedName(name)
}

/** Whether a name is one of an imported operation: only those have a dot. */
export function isImportedName(name: string): name is ImportedName {
  return IMPORTED.test(name)
}

/** `{api}.{operationId}` (core/apis). Names of free routes have no dot. */
const IMPORTED = /^[a-z0-9-]{1,40}\.[A-Za-z0-9_-]{1,64}$/
