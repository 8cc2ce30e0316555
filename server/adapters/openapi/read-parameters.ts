import { type ApiParameter, type DataSchema, JSON_TYPE } from '../../core/apis/api'
import { pathParameters } from '../../core/apis/api-routes'
import { STYLES, unwritable, unwritableMembers } from '../../core/apis/wire-values'
import { elementsOf, isJson, type Json } from '../../core/json'
import { isPlainLine } from '../../core/plain-text'
import { err, ok, type Result } from '../../core/result'
import type { Documents, Located } from './documents'
import { isCallersHeader } from './header-names'
import { listed, type OperationNotes, shownPart } from './operation-notes'
import { plainDescription, textIn } from './plain-texts'
import { mediaType } from './read-body'
import type { SchemaReader } from './schema-reader'

const MAX_PARAMETERS = 200
const MAX_NAME = 100
type ParameterLocation = ApiParameter['in']
type Style = ApiParameter['style']

/** Reads the parameters of operations: those of the path and those of the operation, which come first. */
export class ParameterReader {
  private readonly documents: Documents
  private readonly schemas: SchemaReader

  constructor(documents: Documents, schemas: SchemaReader) {
    this.documents = documents
    this.schemas = schemas
  }

  /**
   * An error says why the operation cannot be sold: a required parameter is not supported. Optional ones are left out, which the notes
   * say. `secrets` names parameters that authenticate: they are never the caller's.
   */
  read(
    path: string,
    declared: readonly Located[],
    secrets: ReadonlySet<string>,
    notes: OperationNotes,
  ): Result<readonly ApiParameter[], string> {
    const found = new Map<string, ApiParameter>()
    const seen = new Set<string>()
    if (declared.length > MAX_PARAMETERS) return err(`has more than ${MAX_PARAMETERS} parameters`)
    for (const located of declared) {
      const followed = this.documents.follow(located)
      if (!followed.ok) return err(`has a parameter that cannot be read: ${followed.error}`)
      const parameter = followed.value
      if (!isJson(parameter.value)) return err('has a parameter that is not an object')
      const name = textIn(parameter.value['name'])
      const location = textIn(parameter.value['in'])
      const key = `${location} ${location === 'header' ? name.toLowerCase() : name}`
      if (seen.has(key)) continue
      seen.add(key)
      const label = `parameter ${shownPart(name)}`
      const dropped = leftOut(path, parameter.value, secrets)
      if (dropped !== null) {
        notes.add(`The ${label} is left out: ${dropped}.`)
        continue
      }
      const read = this.one(parameter, parameter.value, notes)
      if (read.ok) found.set(key, read.value)
      else if (parameter.value['required'] === true) return err(`needs the ${label}, which ${read.error}`)
      else notes.add(`The ${label} is left out: it ${read.error}.`)
    }
    return this.complete(path, found, notes)
  }

  /** Adds the parameters of the template that are not declared. */
  private complete(
    path: string,
    found: ReadonlyMap<string, ApiParameter>,
    notes: OperationNotes,
  ): Result<readonly ApiParameter[], string> {
    const all = [...found.values()]
    for (const name of pathParameters(path)) {
      if (found.has(`path ${name}`)) continue
      if (!isPlainName(name)) return err(`has a path parameter with a name that is not allowed: ${shownPart(name)}`)
      notes.add(`The path parameter ${shownPart(name)} is not declared, and is taken for a string.`)
      all.push({ ...PATH_TEXT, name })
    }
    return ok(all)
  }

  private one(part: Located, parameter: Json, notes: OperationNotes): Result<ApiParameter, string> {
    const { name, in: location } = parameter
    if (location !== 'path' && location !== 'query' && location !== 'header') {
      return err(location === 'cookie' ? 'is sent as a cookie' : `is sent in an unknown place`)
    }
    if (typeof name !== 'string' || !isPlainName(name)) return err('has a name that is not allowed')
    if (parameter['allowReserved'] === true) return err('uses allowReserved')
    const written = isJson(parameter['content'])
      ? this.contentSchema(part, parameter['content'], name, notes)
      : this.styledSchema(part, parameter, location, notes)
    if (!written.ok) return written
    const bounded = boundedDefault(written.value.schema)
    const read: ApiParameter = {
      name,
      in: location,
      required: location === 'path' || parameter['required'] === true,
      description: plainDescription(parameter['description']),
      ...written.value,
      ...(bounded !== null && location !== 'path' && { default: bounded }),
    }
    const problem = unwritable(read)
    if (problem !== null) return err(problem)
    const refused = unwritableMembers(read)
    if (refused.length > 0)
      notes.add(`Members of ${shownPart(name)} that its style cannot write are refused: ${listed(refused)}.`)
    return ok(read)
  }

  private styledSchema(
    part: Located,
    parameter: Json,
    location: ParameterLocation,
    notes: OperationNotes,
  ): Result<Pick<ApiParameter, 'schema' | 'style' | 'explode'>, string> {
    const style = parameter['style'] ?? (location === 'query' ? 'form' : 'simple')
    const known: readonly Style[] = STYLES[location]
    const supported = style === 'json' ? undefined : known.find((one) => one === style)
    if (!supported) return err(`has the style ${shownPart(textIn(style))}, which is not supported in a ${location}`)
    const read = this.schemas.read({ ...part, value: parameter['schema'] ?? {} }, textIn(parameter['name']))
    if (!read.ok) return read
    notes.notChecked(read.value.unchecked)
    notes.anyMembers(read.value.open)
    const explode = parameter['explode']
    return ok({
      schema: read.value.schema,
      style: supported,
      explode: typeof explode === 'boolean' ? explode : supported === 'form',
    })
  }

  /** A parameter whose text is JSON. */
  private contentSchema(
    part: Located,
    content: Json,
    name: string,
    notes: OperationNotes,
  ): Result<Pick<ApiParameter, 'schema' | 'style' | 'explode'>, string> {
    const [[type = '', media] = [], ...others] = Object.entries(content)
    if (others.length > 0 || !isJson(media) || !JSON_TYPE.test(mediaType(type))) {
      return err(`has content of ${listed(Object.keys(content)) || 'no type'}, of which only JSON is supported`)
    }
    const read = this.schemas.read({ ...part, value: media['schema'] ?? {} }, name)
    if (!read.ok) return read
    notes.notChecked(read.value.unchecked)
    notes.anyMembers(read.value.open)
    return ok({ schema: read.value.schema, style: 'json', explode: false })
  }
}

const PATH_TEXT = {
  in: 'path',
  required: true,
  description: '',
  schema: { type: 'string' },
  style: 'simple',
  explode: false,
} as const

/** Why a parameter is not the caller's to send, or null. */
function leftOut(path: string, parameter: Json, secrets: ReadonlySet<string>): string | null {
  const { name, in: location } = parameter
  if (typeof name !== 'string') return null
  if (location === 'header' && !isCallersHeader(name)) return 'the gateway decides on this header'
  if (location === 'path' && !pathParameters(path).includes(name)) return 'the path does not have it'
  if (secrets.has(`${textIn(location)} ${location === 'header' ? name.toLowerCase() : name}`)) {
    return 'it authenticates, which the gateway does'
  }
  return null
}

function isPlainName(name: string): boolean {
  return name !== '' && name !== '__proto__' && name.length <= MAX_NAME && isPlainLine(name)
}

/** The default of an integer that has a minimum and a maximum: a price may take its maximum from it, so it is always sent. */
function boundedDefault(schema: DataSchema): number | null {
  if (!isJson(schema)) return null
  const { type, minimum, maximum, default: value } = schema
  const types = typeof type === 'string' ? [type] : elementsOf(type)
  if (!types.includes('integer') || typeof minimum !== 'number' || typeof maximum !== 'number') return null
  return Number.isInteger(value) && Number(value) >= minimum && Number(value) <= maximum ? Number(value) : null
}
