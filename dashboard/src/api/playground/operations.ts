import { queryOptions } from '@tanstack/react-query'
import { elementsOf, member, parsedJson } from '../../../../server/core/json.ts'
import { FORM_TYPES, type FormType, type SentForm } from '../../sample.ts'
import type { ApiOperation } from '../apis.ts'
import type { CatalogOperation } from '../catalog.ts'
import { callJson } from '../client/client.ts'
import type { TryCall } from './try-call.ts'

/** A parameter of an operation, from the gateway's OpenAPI document. */
export interface OperationField {
  readonly name: string
  /** Its name in the request, if that differs because two parameters have the same name. */
  readonly sentAs?: string
  readonly location: 'query' | 'header' | 'path' | 'body'
  /** `json`: a member of a form that is an object, or with `multiple` a list of them. `multiple` is for files too. */
  readonly type: 'text' | 'integer' | 'number' | 'boolean' | 'choice' | 'list' | 'json' | 'file'
  readonly multiple?: boolean
  readonly required: boolean
  readonly description: string
  readonly choices: readonly string[]
  readonly min: number | null
  readonly max: number | null
  readonly maxLength: number | null
  readonly maxWords: number | null
  readonly defaultValue: string | null
}

export interface GatewayOperation {
  readonly id: string
  readonly title: string
  readonly description: string
  readonly group: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  /** The catalog price of one unit in USD, if it is fixed. */
  readonly price: string | null
  /** The price of an imported operation. */
  readonly apiPrice?: object
  /** Its name in prices and reports; null if it is not charged per unit. */
  readonly name: string | null
  readonly fields: readonly OperationField[]
  /** An example body to edit, if the body is more than a flat list of fields. */
  readonly exampleBody: string | null
  /** Whether a body is sent. */
  readonly takesBody: boolean
  /** The content type of a body that is a form; absent for JSON. */
  readonly formType?: FormType
}

/** The facts for choosing an operation. */
export type OperationChoice = Pick<GatewayOperation, 'id' | 'title' | 'group' | 'name' | 'path'> & {
  readonly method: string
}

/** The built-in operations that a key can call, to choose one: new operations appear automatically. */
export const operationsQuery = queryOptions({
  queryKey: ['operations'],
  queryFn: async () => choicesOf(await callJson('/openapi/operations')),
  staleTime: Number.POSITIVE_INFINITY,
})

/** One built-in operation, from a document of its own: the whole one is large, and grows with each imported API. */
export const operationQuery = (id: string) =>
  queryOptions({
    queryKey: ['operations', id],
    queryFn: async () => {
      const document = await callJson(`/openapi/operations/${encodeURIComponent(id)}`)
      const [found] = operationsOf(document)
      if (!found) throw new Error(`the document of ${id} has no operation`)
      return found
    },
    staleTime: Number.POSITIVE_INFINITY,
  })

function choicesOf(index: unknown): readonly OperationChoice[] {
  const entries = elementsOf(member(index, 'operations')).map(loose)
  const paths = entries.map(({ path }) => path)
  return entries.map(({ id, title, group, name, method, path }) => {
    const isSecond = method === 'POST' && paths.filter((one) => one === path).length > 1
    return {
      id: String(id),
      title: `${title}${isSecond ? ' (POST)' : ''}`,
      group: String(group),
      name: text(name),
      method: String(method),
      path: String(path),
    }
  })
}

function operationsOf(document: unknown): readonly GatewayOperation[] {
  return Object.entries(loose(member(document, 'paths'))).flatMap(([path, item]) =>
    Object.entries(loose(item)).map(([method, operation]) =>
      operationOf(document, path, method === 'get' ? 'GET' : 'POST', operation),
    ),
  )
}

function operationOf(document: unknown, path: string, method: 'GET' | 'POST', operation: unknown): GatewayOperation {
  const media = member(member(member(operation, 'requestBody'), 'content'), 'application/json')
  const schema = resolved(document, member(media, 'schema'))
  const required = elementsOf(member(schema, 'required')).map(String)
  const bodyFields = Object.entries(loose(member(schema, 'properties'))).map(([name, property]) =>
    fieldOf({ name, in: 'body', required: required.includes(name), schema: resolved(document, property) }),
  )
  const isFlat = bodyFields.every((field) => field !== null)
  const example = member(Object.values(loose(member(media, 'examples')))[0], 'value')
  const parameters = elementsOf(member(operation, 'parameters')).map((parameter) =>
    fieldOf(resolved(document, parameter)),
  )
  return {
    id: String(member(operation, 'operationId') ?? path),
    title: `${String(member(operation, 'summary') ?? path)}${method === 'POST' && parameters.length > 4 ? ' (POST)' : ''}`,
    description: String(member(operation, 'description') ?? ''),
    group: String(elementsOf(member(operation, 'tags'))[0] ?? ''),
    method,
    path,
    price: text(member(member(operation, 'x-price'), 'amount')),
    name: text(member(operation, 'x-operation')),
    fields: [...parameters, ...(isFlat ? bodyFields : [])].filter((field) => field !== null),
    exampleBody: media === undefined || isFlat ? null : JSON.stringify(example ?? {}, null, 2),
    takesBody: method === 'POST',
  }
}

/** The form of an imported operation, from its entry in the catalog. */
export function catalogGatewayOperation(entry: CatalogOperation): GatewayOperation {
  const { name, title, description, api_title: group, method, path, price, parameters, input_schema: schema } = entry
  const required = elementsOf(member(schema, 'required')).map(String)
  const properties = member(schema, 'properties')
  const fields = parameters.flatMap(({ name: sentAs, input, in: location }) => {
    const property = member(properties, input)
    return simpleField({ name: input, in: location, required: required.includes(input), schema: property }, sentAs)
  })
  return {
    id: name,
    title,
    description,
    group,
    path,
    price: null,
    apiPrice: Object(price),
    name,
    method: METHODS.find((one) => one === method) ?? 'GET',
    ...withBody(
      fields,
      member(properties, 'body'),
      member(entry.examples[0]?.input, 'body'),
      formTypeOf(entry.body_type),
    ),
  }
}

/** The form of an operation for its operator. Its values are sent by input name. */
export function operatorGatewayOperation(operation: ApiOperation): GatewayOperation {
  const { id, name, title = id, description = '', method, path, price, parameters = [], body } = operation
  const fields = parameters.flatMap((parameter) => {
    const isTaken = parameter.name === 'body' || parameters.filter((one) => one.name === parameter.name).length > 1
    return simpleField({ ...parameter, name: isTaken ? `${parameter.in}_${parameter.name}` : parameter.name })
  })
  return {
    id,
    title,
    description,
    group: '',
    method,
    path,
    price: null,
    apiPrice: price,
    name,
    ...withBody(
      fields,
      body?.schema,
      member(operation.examples?.[0]?.input, 'body'),
      formTypeOf(body?.content_type ?? null),
    ),
  }
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/** A parameter of any type that the form does not know is typed as text. */
function simpleField(parameter: object, sentAs?: string): OperationField[] {
  const field = fieldOf(parameter) ?? fieldOf({ ...parameter, schema: { type: 'string' } })
  return field ? [{ ...field, ...(sentAs !== undefined && sentAs !== field.name && { sentAs }) }] : []
}

function formTypeOf(contentType: string | null): FormType | null {
  return FORM_TYPES.find((type) => type === contentType) ?? null
}

/** Fields for the members of a form or of a flat body; any other body is edited as JSON. */
function withBody(fields: readonly OperationField[], schema: unknown, example: unknown, formType: FormType | null) {
  if (formType !== null) return withForm(fields, schema, formType)
  const required = elementsOf(member(schema, 'required')).map(String)
  const members = Object.entries(loose(member(schema, 'properties'))).map(([name, property]) =>
    fieldOf({ name, in: 'body', required: required.includes(name), schema: property }),
  )
  const taken = new Set(fields.map(({ name }) => name))
  const flat = members.filter((field) => field !== null && !taken.has(field.name)).filter((field) => field !== null)
  const isFlat = members.length > 0 && flat.length === members.length
  return {
    fields: isFlat ? [...fields, ...flat] : fields,
    exampleBody: schema === undefined || isFlat ? null : JSON.stringify(example ?? {}, null, 2),
    takesBody: schema !== undefined || fields.some(({ location }) => location === 'body'),
  }
}

/** A field for each member of a form. If a parameter already has the name of a member, its field gets another name. */
function withForm(fields: readonly OperationField[], schema: unknown, formType: FormType) {
  const required = elementsOf(member(schema, 'required')).map(String)
  const taken = new Set(fields.map(({ name }) => name))
  const members = Object.entries(loose(member(schema, 'properties'))).flatMap(([name, property]): OperationField[] => {
    const label = taken.has(name) ? `body_${name}` : name
    const parameter = { name: label, in: 'body', required: required.includes(name) }
    const sentAs = label === name ? {} : { sentAs: name }
    const items = member(property, 'items')
    const isFile = formType === 'multipart/form-data' && (isBinary(property) || isBinary(items))
    const found = isFile ? null : fieldOf({ ...parameter, schema: property })
    const isList = found?.type === 'list' && member(items, 'type') === 'object'
    if (found && !isList) return [{ ...found, ...sentAs }]
    const plain = fieldOf({ ...parameter, schema: { ...loose(property), type: 'string', enum: [] } })
    if (!plain) return []
    return [{ ...plain, ...sentAs, type: isFile ? 'file' : 'json', multiple: isFile ? isBinary(items) : isList }]
  })
  return { fields: [...fields, ...members], exampleBody: null, takesBody: true, formType }
}

/** Whether a schema means a file: bytes, or anything at all. */
function isBinary(schema: unknown): boolean {
  if (schema === true) return true
  if (typeof schema !== 'object' || schema === null) return false
  const type = member(schema, 'type')
  const media = member(schema, 'contentMediaType')
  if (typeof media === 'string' && media !== 'application/json') return true
  return type === undefined && Object.keys(schema).every((key) => key === 'description' || key === 'title')
}

/** The chosen files by field name. Unlike the values, they are not in the URL of the page. */
export type FormFiles = Readonly<Record<string, readonly File[]>>

/** The entered values by field name; empty for fields that are not sent. */
export type FormValues = Readonly<Record<string, string>>

/** The call that a form describes; null if its body is not valid JSON. */
export function callOf(
  operation: GatewayOperation,
  values: FormValues,
  body: string,
  files: FormFiles = {},
): Omit<TryCall, 'payer'> | null {
  const query = new URLSearchParams()
  const headers: Record<string, string> = {}
  let path = operation.path
  for (const { name, sentAs = name, location, type } of operation.fields) {
    const value = values[name]
    if (value === undefined || value.trim() === '') continue
    if (location === 'path') path = path.replace(`{${sentAs}}`, encodeURIComponent(value))
    else if (location === 'header') headers[sentAs] = value
    else if (location === 'query')
      for (const one of type === 'list' ? linesOf(value) : [value]) query.append(sentAs, one)
  }
  const search = query.toString()
  const { method, formType } = operation
  const call = { method, path: search === '' ? path : `${path}?${search}`, headers }
  if (formType !== undefined)
    return { ...call, body: undefined, form: { type: formType, fields: formFields(operation, values, files) } }
  const sent = bodyOf(operation, values, body)
  if (sent === undefined) return null
  return { ...call, body: operation.takesBody ? sent : undefined }
}

/** The fields of a form in the order of their members; empty ones are not sent. */
function formFields({ fields }: GatewayOperation, values: FormValues, files: FormFiles): SentForm['fields'] {
  return fields.flatMap((field): [string, string | File][] => {
    const { name, sentAs = name, location, type } = field
    if (location !== 'body') return []
    if (type === 'file') return (files[name] ?? []).map((file) => [sentAs, file])
    const value = values[name] ?? ''
    if (value.trim() === '') return []
    return textsOf(field, value).map((one) => [sentAs, one])
  })
}

/** The input that a form describes, by name, with the body under `body`; null if its body is not valid JSON. */
export function inputOf(operation: GatewayOperation, values: FormValues, body: string): object | null {
  const input = operation.fields.flatMap((field) => {
    const value = values[field.name]
    return field.location === 'body' || value === undefined || value.trim() === ''
      ? []
      : [[field.name, sentValue(field, value)]]
  })
  const sent = bodyOf(operation, values, body)
  if (sent === undefined) return null
  return { ...Object.fromEntries(input), ...(operation.takesBody && { body: sent }) }
}

/** The body from its fields, or from JSON text; undefined if that is not valid. */
function bodyOf({ fields, exampleBody }: GatewayOperation, values: FormValues, body: string): unknown {
  if (exampleBody !== null) return parsedJson(body)
  return Object.fromEntries(
    fields.flatMap((field) => {
      const value = values[field.name]
      if (field.location !== 'body' || value === undefined || value.trim() === '') return []
      return [[field.sentAs ?? field.name, sentValue(field, value)]]
    }),
  )
}

/** A form sends each element of a list as a field of its own. */
function textsOf({ type, multiple }: OperationField, value: string): readonly string[] {
  if (type === 'list') return linesOf(value)
  const elements = type === 'json' && multiple === true ? parsedJson(value) : null
  return Array.isArray(elements) ? elements.map((one) => JSON.stringify(one)) : [value]
}

function sentValue({ type }: OperationField, value: string): unknown {
  if (type === 'integer' || type === 'number') return Number(value)
  if (type === 'boolean') return value === 'true'
  if (type === 'json') {
    const parsed = parsedJson(value)
    // Anything but an object or a list is the text that was typed.
    return typeof parsed === 'object' && parsed !== null ? parsed : value
  }
  return type === 'list' ? linesOf(value) : value
}

function linesOf(value: string): string[] {
  return value.split('\n').filter((line) => line.trim() !== '')
}

/** The field of a parameter; null if it has more than one value. */
function fieldOf(parameter: unknown): OperationField | null {
  const schema = member(parameter, 'schema')
  const location = member(parameter, 'in')
  const choices = elementsOf(member(schema, 'enum')).filter((value) => value !== null)
  const type = typeOf(member(schema, 'type') ?? firstType(schema), choices)
  if (type === null || (location !== 'query' && location !== 'header' && location !== 'path' && location !== 'body'))
    return null
  const words = /\{0,(\d+)\}/.exec(String(member(schema, 'pattern') ?? ''))?.[1]
  const defaultValue = member(schema, 'default')
  return {
    name: String(member(parameter, 'name')),
    location,
    type,
    required: member(parameter, 'required') === true,
    description: String(member(parameter, 'description') ?? member(schema, 'description') ?? ''),
    choices: choices.map(String),
    min: number(member(schema, 'minimum')),
    max: number(member(schema, 'maximum')),
    maxLength: number(member(schema, 'maxLength')),
    maxWords: words === undefined ? null : Number(words) + 1,
    defaultValue: defaultValue === undefined ? null : String(defaultValue),
  }
}

function typeOf(type: unknown, choices: readonly unknown[]): OperationField['type'] | null {
  if (choices.length > 0) return 'choice'
  const known = Array.isArray(type) ? type.find((one) => one !== 'null') : type
  switch (known) {
    case 'string':
      return 'text'
    case 'integer':
    case 'number':
    case 'boolean':
      return known
    case 'array':
      return 'list'
    default:
      return null
  }
}

/** For "a string or a list of strings": the list, because it covers both. */
function firstType(schema: unknown): unknown {
  const ways = [...elementsOf(member(schema, 'anyOf')), ...elementsOf(member(schema, 'oneOf'))].map((way) =>
    member(way, 'type'),
  )
  return ways.includes('array') ? 'array' : ways[0]
}

function resolved(document: unknown, value: unknown): unknown {
  const reference = member(value, '$ref')
  if (typeof reference !== 'string') return value
  return reference.replace('#/', '').split('/').reduce<unknown>(member, document)
}

function loose(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

function text(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

function number(value: unknown): number | null {
  return typeof value === 'number' ? value : null
}
