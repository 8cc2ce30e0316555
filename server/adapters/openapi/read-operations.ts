import { createHash } from 'node:crypto'
import { API_METHODS, type ApiMethod, OPERATION_ID } from '../../core/apis/api'
import { templateProblem } from '../../core/apis/api-routes'
import type { ImportedOperation, ImportOptions, RefusedPart } from '../../core/apis/catalog/imported'
import { elementsOf, isJson, type Json } from '../../core/json'
import { err, ok, type Result } from '../../core/result'
import type { Documents, Located } from './documents'
import { isReturnedHeader } from './header-names'
import { listed, OperationNotes, shownPart } from './operation-notes'
import { plainDescription, plainTitle, textIn } from './plain-texts'
import { RequestBodyReader } from './read-body'
import { ExampleReader } from './read-examples'
import { ParameterReader } from './read-parameters'
import { Servers } from './read-servers'
import { SchemaReader } from './schema-reader'

const MAX_OPERATIONS = 5_000
const MAX_HEADERS_DOWN = 30
const MAX_PATH = 500
const NOT_SOLD = ['head', 'options', 'trace', 'query']

/** An operation as written in the document. */
interface FoundOperation {
  readonly method: ApiMethod
  readonly path: string
  readonly item: Located
  readonly operation: Located
  readonly operationId: unknown
}

export interface ReadOperations {
  /** Where the operations are served. */
  readonly servers: readonly string[]
  readonly operations: readonly ImportedOperation[]
  readonly refused: readonly RefusedPart[]
  readonly notices: readonly string[]
}

/**
 * Reads the operations of a document, or those named by `only`, that are served at `baseUrl`. The error is a sentence about the whole
 * document.
 */
export function readOperations(
  documents: Documents,
  { only, baseUrl }: Pick<ImportOptions, 'only' | 'baseUrl'>,
): Result<ReadOperations, string> {
  const refused: RefusedPart[] = []
  const notices: string[] = []
  const found = operationsOf(documents, refused, notices)
  if (found.length > MAX_OPERATIONS) return err(`The document has more than ${MAX_OPERATIONS} operations.`)
  const ids = operationIds(found)
  const own = found.map(serversOf)
  const servers = new Servers(documents.root['servers'], own, documents.start.base, baseUrl)
  const reader = new OperationReader(documents, servers)
  const operations: ImportedOperation[] = []
  const shapes = new Map<string, string>()
  const wanted = only && new Set(only)
  const missing = new Set(only)
  for (const [i, one] of found.entries()) {
    const id = ids[i] ?? ''
    const name = `${one.method} ${one.path}`
    const keys = [name, id, ...(typeof one.operationId === 'string' ? [one.operationId] : [])]
    if (wanted && !keys.some((key) => wanted.has(key))) continue
    for (const key of keys) missing.delete(key)
    const shape = `${one.method} ${one.path.replace(/\{[^{}]+\}/g, '{}')}`
    const notes = new OperationNotes(shownPart(name))
    const other = shapes.get(shape)
    const read = other === undefined ? reader.read(one, id, notes) : err(`is the same request as ${shownPart(other)}`)
    if (!read.ok) {
      refused.push({ name: shownPart(name), reason: read.error })
      continue
    }
    shapes.set(shape, name)
    operations.push(read.value)
    notices.push(...notes.all)
  }
  for (const name of missing) refused.push({ name: shownPart(name), reason: 'is not in the document' })
  return ok({ operations, refused, notices, servers: servers.urls })
}

/** All operations of the methods that are sold. */
function operationsOf(documents: Documents, refused: RefusedPart[], notices: string[]): FoundOperation[] {
  const { start } = documents
  const paths = documents.follow({ ...start, value: documents.root['paths'] ?? {} })
  const found: FoundOperation[] = []
  const dropped: string[] = []
  for (const [path, value] of paths.ok && isJson(paths.value.value) ? Object.entries(paths.value.value) : []) {
    if (path.startsWith('x-')) continue
    const item = documents.followWithin({ ...start, value })
    const problem = item.ok ? (isJson(item.value.value) ? pathProblem(path) : 'is not an object') : item.error
    if (problem !== null || !item.ok || !isJson(item.value.value)) {
      refused.push({ name: shownPart(path), reason: problem ?? 'cannot be read' })
      continue
    }
    const { additionalOperations } = item.value.value
    for (const key of isJson(additionalOperations) ? Object.keys(additionalOperations) : [])
      dropped.push(`${key} ${path}`)
    for (const [key, declared] of Object.entries(item.value.value)) {
      if (NOT_SOLD.includes(key)) dropped.push(`${key.toUpperCase()} ${path}`)
      const method = API_METHODS.find((one) => one.toLowerCase() === key)
      if (!method) continue
      const operation = documents.follow({ ...item.value, value: declared })
      if (!operation.ok) {
        refused.push({ name: shownPart(`${method} ${path}`), reason: `cannot be read: ${operation.error}` })
        continue
      }
      const { value } = operation.value
      const operationId = isJson(value) ? value['operationId'] : undefined
      found.push({ method, path, item: item.value, operation: operation.value, operationId })
    }
  }
  if (dropped.length > 0) {
    notices.push(`HEAD, OPTIONS, TRACE and QUERY are not sold. These are left out: ${listed(dropped)}.`)
  }
  return found
}

function pathProblem(path: string): string | null {
  return path.length > MAX_PATH ? `is longer than ${MAX_PATH} characters` : templateProblem(path)
}

function serversOf({ item, operation }: FoundOperation): unknown {
  const own = isJson(operation.value) ? operation.value['servers'] : undefined
  return own ?? (isJson(item.value) ? item.value['servers'] : undefined)
}

class OperationReader {
  private readonly documents: Documents
  private readonly servers: Servers
  private readonly secrets: ReadonlySet<string>
  private readonly parameters: ParameterReader
  private readonly bodies: RequestBodyReader
  private readonly examples: ExampleReader

  constructor(documents: Documents, servers: Servers) {
    const schemas = new SchemaReader(documents)
    this.documents = documents
    this.servers = servers
    this.secrets = authenticating(documents)
    this.parameters = new ParameterReader(documents, schemas)
    this.bodies = new RequestBodyReader(documents, schemas)
    this.examples = new ExampleReader(documents)
  }

  /** The error follows the operation's name. */
  read(found: FoundOperation, id: string, notes: OperationNotes): Result<ImportedOperation, string> {
    const { method, path, item, operation } = found
    const declared = operation.value
    if (!isJson(declared)) return err('is not an object')
    const of = isJson(item.value) ? item.value : {}
    const elsewhere = this.servers.problem(serversOf(found))
    if (elsewhere !== null) return err(elsewhere)
    const located = [operation, item].flatMap((part) =>
      elementsOf(isJson(part.value) ? part.value['parameters'] : []).map((value) => ({ ...part, value })),
    )
    const parameters = this.parameters.read(path, located, this.secrets, notes)
    if (!parameters.ok) return parameters
    const requestBody = { ...operation, value: declared['requestBody'] }
    const body = this.body(method, requestBody, notes)
    if (!body.ok) return body
    if (isJson(declared['callbacks'])) notes.add('Its callbacks are ignored.')
    return ok({
      id,
      method,
      path,
      title:
        plainTitle(declared['summary']) || plainTitle(of['summary']) || `${method} ${shownPart(path)}`.slice(0, 100),
      description: plainDescription(declared['description'] ?? of['description']),
      parameters: parameters.value,
      body: body.value,
      effect: method === 'GET' ? 'read' : 'write',
      ...this.answer(operation, declared),
      examples: this.examples.read(parameters.value, located, body.value, requestBody),
    })
  }

  private body(method: ApiMethod, requestBody: Located, notes: OperationNotes): ReturnType<RequestBodyReader['read']> {
    if (method !== 'GET' || requestBody.value === undefined) return this.bodies.read(requestBody, notes)
    const followed = this.documents.follow(requestBody)
    const required = followed.ok && isJson(followed.value.value) && followed.value.value['required'] === true
    if (required) return err('needs a body, which a GET request does not have')
    notes.add('Its body is left out: a GET request has none.')
    return ok(null)
  }

  private answer(operation: Located, { responses }: Json): Pick<ImportedOperation, 'answer' | 'headersDown'> {
    const names = new Set<string>()
    let streams = false
    for (const [status, value] of isJson(responses) ? Object.entries(responses) : []) {
      if (!/^2..$/.test(status)) continue
      const response = this.documents.follow({ ...operation, value })
      if (!response.ok || !isJson(response.value.value)) continue
      const { headers, content } = response.value.value
      for (const name of isJson(headers) ? Object.keys(headers) : []) {
        if (isReturnedHeader(name) && names.size < MAX_HEADERS_DOWN) names.add(name.toLowerCase())
      }
      const types = isJson(content) ? Object.keys(content) : []
      streams ||= types.length > 0 && types.every((type) => type.startsWith('text/event-stream'))
    }
    return { answer: streams ? 'stream' : 'whole', headersDown: [...names] }
  }
}

/** The parameters by which the document authenticates, as `in name`. */
function authenticating(documents: Documents): ReadonlySet<string> {
  const { components } = documents.root
  const schemes = isJson(components) && isJson(components['securitySchemes']) ? components['securitySchemes'] : {}
  const keys = Object.values(schemes).flatMap((value) => {
    const followed = documents.follow({ ...documents.start, value })
    const scheme = followed.ok && isJson(followed.value.value) ? followed.value.value : {}
    const { type, in: location, name } = scheme
    if (type !== 'apiKey' || typeof name !== 'string') return []
    return [`${textIn(location)} ${location === 'header' ? name.toLowerCase() : name}`]
  })
  return new Set(keys)
}

const MAX_LENGTH = 64
const HASH_LENGTH = 6

interface NamedOperation {
  readonly method: string
  readonly path: string
  readonly operationId: unknown
}

/**
 * The ids of operations, in their order. An id comes from the document's `operationId`, or from method and path where that is missing
 * or used twice. It depends on no order, and on the other operations only if they share an id.
 */
function operationIds(names: readonly NamedOperation[]): string[] {
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

/** A text as an id, or null if nothing of it fits. A longer text is cut with a hash, so that long names stay different. */
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
