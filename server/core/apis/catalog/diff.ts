import type { ApiParameter, ApiPrice } from '../api'
import type { ImportedOperation } from './imported'

/** The changes of a re-import to an operation that stays. Each needs a confirmation. */
export type ChangedAspect = 'text' | 'path' | 'schema' | 'price'

export interface ChangedOperation {
  readonly id: string
  readonly changed: readonly ChangedAspect[]
}

/** The effect of an import on existing operations. Each list is in the order of the operations. */
export interface ImportDiff {
  readonly added: readonly string[]
  readonly changed: readonly ChangedOperation[]
  readonly removed: readonly string[]
}

/** An operation with what it costs. */
export type PricedOperation = ImportedOperation & { readonly price: ApiPrice }

/** Compares operations by their ids. The order of members in schemas does not count, nor does the order of parameters. */
export function importDiff(before: readonly PricedOperation[], after: readonly PricedOperation[]): ImportDiff {
  const old = new Map(before.map((operation) => [operation.id, operation]))
  const remaining = new Set(after.map(({ id }) => id))
  return {
    added: after.filter(({ id }) => !old.has(id)).map(({ id }) => id),
    changed: after.flatMap((operation) => {
      const was = old.get(operation.id)
      const changed = was ? changedAspects(was, operation) : []
      return changed.length > 0 ? [{ id: operation.id, changed }] : []
    }),
    removed: before.filter(({ id }) => !remaining.has(id)).map(({ id }) => id),
  }
}

/** Whether an import changes nothing. */
export function isUnchanged({ added, changed, removed }: ImportDiff): boolean {
  return added.length === 0 && changed.length === 0 && removed.length === 0
}

function changedAspects(was: PricedOperation, is: PricedOperation): ChangedAspect[] {
  const differs = (part: (operation: PricedOperation) => unknown) => canonical(part(was)) !== canonical(part(is))
  const aspects: [ChangedAspect, (operation: PricedOperation) => unknown][] = [
    ['text', (operation) => [textsOf(operation), operation.examples]],
    ['path', (operation) => [operation.method, operation.path]],
    ['schema', schemaOf],
    ['price', (operation) => operation.price],
  ]
  return aspects.filter(([, part]) => differs(part)).map(([aspect]) => aspect)
}

function textsOf({ title, description, parameters, body }: PricedOperation): unknown {
  const described = parameters.map(
    (parameter) => [keyOf(parameter), [parameter.description, texts(parameter.schema)]] as const,
  )
  return [title, description, sorted(described), texts(body?.schema)]
}

/** The shape of a call's input and answer, without texts. */
function schemaOf({ parameters, body, effect, answer, headersDown }: PricedOperation): unknown {
  const declared = parameters.map(({ description: _, ...rest }) => [keyOf(rest), withoutTexts(rest)] as const)
  return [sorted(declared), body && withoutTexts(body), effect, answer, [...headersDown].sort()]
}

function keyOf(parameter: Pick<ApiParameter, 'in' | 'name'>): string {
  return `${parameter.in} ${parameter.name}`
}

function sorted<T>(named: readonly (readonly [string, T])[]): readonly (readonly [string, T])[] {
  return [...named].sort(([a], [b]) => (a < b ? -1 : 1))
}

const TEXTS = ['title', 'description']
/** Keywords whose members are names that a document chose, or data: a `title` in them is no text. */
const NAMED = ['properties', '$defs', 'dependentSchemas']
const DATA = ['enum', 'const', 'default', 'required']

function withoutTexts(value: unknown, named = false): unknown {
  if (Array.isArray(value)) return value.map((part) => withoutTexts(part))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, part]) => named || !TEXTS.includes(name) || typeof part !== 'string')
      .map(([name, part]) => [
        name,
        !named && DATA.includes(name) ? part : withoutTexts(part, !named && NAMED.includes(name)),
      ]),
  )
}

function texts(value: unknown, named = false): unknown[] {
  if (Array.isArray(value)) return value.flatMap((part) => texts(part))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, part]) => {
      if (!named && TEXTS.includes(name) && typeof part === 'string') return [name, part]
      if (!named && DATA.includes(name)) return []
      const inside = texts(part, !named && NAMED.includes(name))
      return inside.length > 0 ? [name, inside] : []
    })
}

/** JSON with the members of objects in one order. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  )
}
