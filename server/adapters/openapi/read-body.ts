import type { ApiBody, DataSchema } from '../../core/apis/api'
import { elementsOf, isJson, type Json, jsonText } from '../../core/json'
import { err, ok, type Result } from '../../core/result'
import type { Documents, Located } from './documents'
import { type OperationNotes, shownPart } from './operation-notes'
import type { SchemaReader } from './schema-reader'

const TYPES = ['application/json', 'application/x-www-form-urlencoded', 'multipart/form-data'] as const

/** Reads request bodies. Of several content types the first of `TYPES` is taken. */
export class RequestBodyReader {
  private readonly documents: Documents
  private readonly schemas: SchemaReader

  constructor(documents: Documents, schemas: SchemaReader) {
    this.documents = documents
    this.schemas = schemas
  }

  /** An error says why the operation cannot be sold. An optional body that is not supported is left out, which the notes say. */
  read(declared: Located, notes: OperationNotes): Result<ApiBody | null, string> {
    if (declared.value === undefined) return ok(null)
    const followed = this.documents.follow(declared)
    if (!followed.ok) return err(`has a body that cannot be read: ${followed.error}`)
    const body = followed.value
    if (!isJson(body.value)) return err('has a body that is not an object')
    const required = body.value['required'] === true
    const read = this.content(body, required, notes)
    if (read.ok) return read
    if (required) return read
    notes.add(`The optional body is left out: the operation ${read.error}.`)
    return ok(null)
  }

  private content(body: Located, required: boolean, notes: OperationNotes): Result<ApiBody, string> {
    const content = isJson(body.value) && isJson(body.value['content']) ? body.value['content'] : {}
    const found = chosen(content)
    if (!found) {
      const types = Object.keys(content).map(shownPart).slice(0, 5).join(', ')
      return err(`has a body of ${types || 'no content type'}; supported are JSON, URL-encoded forms and multipart`)
    }
    const { contentType, media } = found
    const read = this.schemas.read({ ...body, value: media['schema'] ?? {} }, 'body')
    if (!read.ok) return read
    const schema = contentType === 'application/json' ? ok(read.value.schema) : formSchema(read.value.schema, notes)
    // What is left out has no members to speak of.
    if (!schema.ok) return schema
    notes.notChecked(read.value.unchecked)
    notes.anyMembers(read.value.open)
    return ok({ contentType, required, schema: schema.value })
  }
}

/** The content type of a body to sell, with what the document says of it. */
export function chosen(content: Json): { readonly contentType: ApiBody['contentType']; readonly media: Json } | null {
  const types = Object.entries(content).map(
    ([type, media]) => [type.split(';')[0]?.trim().toLowerCase(), media] as const,
  )
  for (const contentType of TYPES) {
    const media = types.find(([type]) => type === contentType)?.[1]
    if (isJson(media)) return { contentType, media }
  }
  const any = types.find(([type]) => type === '*/*' || type === 'application/*')?.[1]
  return isJson(any) ? { contentType: 'application/json', media: any } : null
}

/** A form has fields: texts, numbers, files and lists of them. Members that are objects are left out. */
function formSchema(schema: DataSchema, notes: OperationNotes): Result<DataSchema, string> {
  if (!isJson(schema) || !isJson(schema['properties'])) {
    return err('has a form without declared fields')
  }
  const nested = Object.entries(schema['properties']).filter(([, part]) => !isField(part))
  const names = new Set(nested.map(([name]) => name))
  const needed = elementsOf(schema['required']).find((name) => typeof name === 'string' && names.has(name))
  if (needed !== undefined) return err(`needs the form field ${shownPart(jsonText(needed))}, which is an object`)
  if (names.size === 0) return ok(schema)
  notes.add(`Form fields that are objects are left out: ${[...names].map(shownPart).slice(0, 10).join(', ')}.`)
  const kept = Object.entries(schema['properties']).filter(([name]) => !names.has(name))
  return ok({ ...schema, properties: Object.fromEntries(kept) })
}

function isField(schema: unknown): boolean {
  if (!isJson(schema)) return schema === true
  const types = typeof schema['type'] === 'string' ? [schema['type']] : elementsOf(schema['type'])
  if (types.includes('array')) {
    const { items } = schema
    return items === undefined || (isField(items) && !(isJson(items) && items['type'] === 'array'))
  }
  if (types.length > 0) return types.some((type) => type !== 'object' && type !== 'null')
  const forms = [...elementsOf(schema['anyOf']), ...elementsOf(schema['oneOf']), ...elementsOf(schema['allOf'])]
  if (forms.length > 0) return forms.some((form) => isField(form) && !isNull(form))
  return !isJson(schema['properties']) && schema['$ref'] === undefined
}

function isNull(schema: unknown): boolean {
  return isJson(schema) && schema['type'] === 'null'
}
