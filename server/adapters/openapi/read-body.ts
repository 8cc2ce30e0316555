import {
  type ApiBody,
  FIELD_STYLES,
  type FieldEncoding,
  isJsonBody,
  JSON_TYPE,
  type JsonType,
} from '../../core/apis/api'
import { Shape } from '../../core/apis/value-shape'
import { isJson, type Json } from '../../core/json'
import { err, ok, type Result } from '../../core/result'
import type { Documents, Located } from './documents'
import { listed, type OperationNotes, shownPart } from './operation-notes'
import { textIn } from './plain-texts'
import type { SchemaReader } from './schema-reader'

const FORMS = ['application/x-www-form-urlencoded', 'multipart/form-data'] as const

/** Reads request bodies. Of several content types JSON is taken, then another type of JSON such as `merge-patch+json`, then a form. */
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
    const { schema, unchecked, open } = read.value
    const encoding = isJsonBody({ contentType }) ? ok({}) : encodingOf(media['encoding'], Shape.of(schema), notes)
    // A part that is left out has no members to speak of.
    if (!encoding.ok) return encoding
    notes.notChecked(unchecked)
    notes.anyMembers(open)
    const others = Object.keys(content).filter((type) => mediaType(type) !== contentType)
    if (others.length > 0 && !isAnyType(others)) notes.add(`The body is ${contentType} only, not ${listed(others)}.`)
    const isPlain = Object.keys(encoding.value).length === 0
    return ok({ contentType, required, schema, ...(!isPlain && { encoding: encoding.value }) })
  }
}

/** The content type of a body to sell, with what the document says of it. */
export function chosen(content: Json): { readonly contentType: ApiBody['contentType']; readonly media: Json } | null {
  const types = Object.entries(content).map(([type, media]) => [mediaType(type), media] as const)
  for (const type of ['application/json', ...types.map(([one]) => one).filter(isJsonType), ...FORMS]) {
    const media = types.find(([one]) => one === type)?.[1]
    if (isBodyType(type) && isJson(media)) return { contentType: type, media }
  }
  const any = types.find(([type]) => isAnyType([type]))?.[1]
  return isJson(any) ? { contentType: 'application/json', media: any } : null
}

/** A content type without its parameters. */
export function mediaType(type: string): string {
  return type.split(';')[0]?.trim().toLowerCase() ?? ''
}

function isJsonType(type: string): type is JsonType {
  return JSON_TYPE.test(type)
}

function isBodyType(type: string): type is ApiBody['contentType'] {
  return isJsonType(type) || FORMS.some((one) => one === type)
}

function isAnyType(types: readonly string[]): boolean {
  return types.every((type) => type === '*/*' || type === 'application/*')
}

/** How the fields of a form are written, as far as the document says so. */
function encodingOf(
  declared: unknown,
  shape: Shape,
  notes: OperationNotes,
): Result<NonNullable<ApiBody['encoding']>, string> {
  if (shape.members.length === 0) return err('has a form without declared fields')
  const encoding: [string, FieldEncoding][] = []
  const asJson: string[] = []
  for (const name of shape.members) {
    const one = isJson(declared) && Object.hasOwn(declared, name) ? declared[name] : {}
    const { style, explode, contentType } = isJson(one) ? one : {}
    const types = textIn(contentType).split(',').map(mediaType)
    const field = shape.member(name)
    if (style !== undefined) {
      const known = FIELD_STYLES.find((other) => other === style)
      if (!known) return err(`has the form field ${shownPart(name)} of the style ${shownPart(textIn(style))}`)
      encoding.push([name, { style: known, explode: typeof explode === 'boolean' ? explode : known === 'form' }])
      if (known === 'form' && field.has('object')) asJson.push(name)
    } else if (types.some(isJsonType) && !field.has('array')) encoding.push([name, { style: 'json', explode: false }])
    else if (field.has('object') || field.items.has('object')) asJson.push(name)
  }
  if (asJson.length > 0) notes.add(`Objects in form fields are sent as JSON, as OpenAPI has it: ${listed(asJson)}.`)
  return ok(Object.fromEntries(encoding))
}
