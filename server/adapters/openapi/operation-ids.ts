import { createHash } from 'node:crypto'
import { OPERATION_ID } from '../../core/apis/api'

const MAX_LENGTH = 64
const HASH_LENGTH = 6

export interface NamedOperation {
  readonly method: string
  readonly path: string
  readonly operationId: unknown
}

/**
 * The ids of operations, in their order. An id comes from the document's `operationId`, or from method and path where that is missing
 * or used twice. It depends on no order, and on the other operations only if they share an id.
 */
export function operationIds(names: readonly NamedOperation[]): string[] {
  const own = names.map(({ operationId }) => (typeof operationId === 'string' ? fitting(operationId) : null))
  const owned = counted(own)
  const derived = names.map((name, i) => {
    const id = own[i]
    return id && owned.get(id) === 1
      ? id
      : (fitting(`${name.method.toLowerCase()}${name.path.replace(/[^A-Za-z0-9-]+/g, '_')}`) ?? hashed('', name))
  })
  const uses = counted(derived)
  return derived.map((id, i) => {
    const name = names[i]
    return name && (uses.get(id) ?? 0) > 1 ? hashed(id, name) : id
  })
}

/** A text as an id, or null if nothing of it fits. What does not fit is cut with a hash, so that long names stay different. */
function fitting(text: string): string | null {
  const plain = text.replace(/[^A-Za-z0-9_-]+/g, '_').replace(/^_+|_+$/g, '')
  if (plain === '') return null
  return OPERATION_ID.test(plain) ? plain : cut(plain, hash(text))
}

function hashed(id: string, { method, path }: NamedOperation): string {
  return cut(id || 'operation', hash(`${method} ${path}`))
}

function cut(id: string, end: string): string {
  return `${id.slice(0, MAX_LENGTH - HASH_LENGTH - 1)}_${end}`
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, HASH_LENGTH)
}

function counted(ids: readonly (string | null)[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const id of ids) if (id !== null) counts.set(id, (counts.get(id) ?? 0) + 1)
  return counts
}
