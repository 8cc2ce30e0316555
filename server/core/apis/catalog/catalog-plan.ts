import { createHash } from 'node:crypto'
import type { Api, ApiOperation } from '../api'
import { canonicalJson } from './assemble-api'
import type { ImportDiff } from './diff'
import type { RefusedPart } from './imported'

/** The plan of an import. Sending `confirm` does exactly this. */
export interface ImportPlan {
  readonly api: Api
  readonly isNew: boolean
  readonly diff: ImportDiff
  readonly refused: readonly RefusedPart[]
  readonly notices: readonly string[]
  readonly confirm: string
}

/** The effect of applying a catalog on one API. Lists hold the ids of operations, and the names of settings. */
export interface ApiPlan {
  readonly name: string
  readonly action: 'create' | 'change' | 'remove' | 'unchanged'
  readonly added: readonly string[]
  readonly changed: readonly string[]
  readonly removed: readonly string[]
  readonly settings: readonly string[]
}

export interface CatalogPlan {
  readonly apis: readonly ApiPlan[]
  readonly notices: readonly string[]
  readonly confirm: string
}

/** Identifies a plan: what would be stored, and what is stored now. Price versions and sealed texts differ each time. */
export function planHash(next: readonly Api[], current: readonly Api[]): string {
  const stored = current.map(({ name, updatedAt }) => [name, updatedAt])
  return createHash('sha256')
    .update(canonicalJson([next.map(comparable), stored]))
    .digest('hex')
    .slice(0, 16)
}

export function apiPlan(next: Api | null, current: Api | null): ApiPlan {
  const name = next?.name ?? current?.name ?? ''
  const ids = (api: Api | null) => api?.operations.map(({ id }) => id) ?? []
  const was = new Map(current?.operations.map((operation) => [operation.id, operation]))
  const added = ids(next).filter((id) => !was.has(id))
  const removed = ids(current).filter((id) => !ids(next).includes(id))
  const changed = (next?.operations ?? [])
    .filter((operation) => {
      const other = was.get(operation.id)
      return other && !same(comparableOperation(other), comparableOperation(operation))
    })
    .map(({ id }) => id)
  const settings = next && current ? changedSettings(next, current) : []
  const isSame = [added, removed, changed, settings].every((list) => list.length === 0)
  const action = !current ? 'create' : !next ? 'remove' : isSame ? 'unchanged' : 'change'
  return { name, action, added, changed, removed, settings }
}

const UNSET = ['operations', 'createdAt', 'updatedAt']

function changedSettings(next: Api, current: Api): string[] {
  return Object.entries(next)
    .filter(([name, value]) => !UNSET.includes(name) && !same(value, Reflect.get(current, name)))
    .map(([name]) => name)
}

function comparable({ updatedAt: _u, createdAt: _c, auth, operations, ...settings }: Api) {
  const shown = 'secret' in auth && auth.secret.from === 'database' ? { ...auth, secret: 'sealed' } : auth
  return { ...settings, auth: shown, operations: operations.map(comparableOperation) }
}

function comparableOperation({ priceVersion: _, ...operation }: ApiOperation) {
  return operation
}

function same(a: unknown, b: unknown): boolean {
  return canonicalJson(a) === canonicalJson(b)
}
