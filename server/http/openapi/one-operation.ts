import { isJson } from '../../core/json'
import type { OpenApiDocument, OpenApiOperation } from './open-api'

/** A built-in operation that a key can call, for choosing one before its document is loaded. */
interface OperationEntry {
  readonly id: string
  readonly title: string
  readonly group: string
  readonly method: string
  readonly path: string
  /** Its name in allowlists, prices and reports; null if it has none. */
  readonly name: string | null
}

type Components = Record<string, Record<string, unknown>>

interface Found {
  readonly path: string
  readonly method: string
  readonly operation: OpenApiOperation
}

/** The built-in operations that a key can call, in the order of the document. Those of imported APIs are in the catalog, by page. */
export function operationIndex(document: OpenApiDocument): { readonly operations: readonly OperationEntry[] } {
  const called = operationsOf(document).filter(
    ({ path, method, operation }) =>
      (method === 'get' || method === 'post') &&
      !path.startsWith('/api/') &&
      !('x-api-price' in operation) &&
      operation.security.some((scheme) => 'apiKey' in scheme),
  )
  return {
    operations: called.map(({ path, method, operation: { operationId: id, summary: title, tags, ...rest } }) => ({
      id,
      title,
      group: tags[0] ?? '',
      method: method.toUpperCase(),
      path,
      name: rest['x-operation'] ?? null,
    })),
  }
}

/** The document with one operation, and of the components what it refers to; null if there is no such operation. */
export function operationDocument(document: OpenApiDocument, id: string): OpenApiDocument | null {
  const found = operationsOf(document).find(({ operation }) => operation.operationId === id)
  if (!found) return null
  const { path, method, operation } = found
  const components: Components = {}
  const { securitySchemes } = document.components
  if (securitySchemes) components['securitySchemes'] = { ...securitySchemes }
  addReferenced(document, operation, components)
  return { ...document, paths: { [path]: { [method]: operation } }, components }
}

function operationsOf({ paths }: OpenApiDocument): Found[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
  )
}

/** Adds the components that a part of the document refers to, and those that they refer to. */
function addReferenced(document: OpenApiDocument, part: unknown, components: Components): void {
  if (Array.isArray(part)) for (const one of part) addReferenced(document, one, components)
  if (!isJson(part)) return
  for (const [key, value] of Object.entries(part)) {
    const [, kind, name] = (key === '$ref' && typeof value === 'string' && REFERENCE.exec(value)) || []
    if (kind === undefined || name === undefined) {
      addReferenced(document, value, components)
      continue
    }
    const group = components[kind] ?? {}
    components[kind] = group
    const target = document.components[kind]?.[name]
    if (target === undefined || Object.hasOwn(group, name)) continue
    group[name] = target
    addReferenced(document, target, components)
  }
}

const REFERENCE = /^#\/components\/(\w+)\/([^/]+)/
