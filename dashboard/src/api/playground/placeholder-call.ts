import { parsedJson } from '../../../../server/core/json.ts'
import type { Sample } from '../../sample.ts'
import { callOf, type FormValues, type GatewayOperation, type OperationField } from './operations.ts'

/** A call of an operation with a placeholder such as `<q>` for each required value, because parameters are not stored. */
export function placeholderCall(operation: GatewayOperation, model: string | null): Sample {
  const required = operation.fields.filter((field) => field.required && field.type !== 'file')
  const values: FormValues = Object.fromEntries(required.map((field) => [field.name, placeholderOf(field, model)]))
  const call = callOf(operation, values, bodyText(operation, model))
  const { method, path, headers, body, form } = call ?? { ...operation, headers: {}, body: undefined, form: undefined }
  return {
    method,
    url: window.location.origin + readable(path),
    headers,
    ...(body !== undefined && { body }),
    ...(form && { form }),
    key: { variable: 'GATEWAY_API_KEY' },
  }
}

function placeholderOf({ name, type, choices, min }: OperationField, model: string | null): string {
  if (name === 'model' && model !== null) return model
  if (type === 'choice') return choices[0] ?? `<${name}>`
  if (type === 'boolean') return 'true'
  if (type === 'integer' || type === 'number') return String(min ?? 1)
  return type === 'json' ? '{}' : `<${name}>`
}

/** The example body, with the model that was called. */
function bodyText({ exampleBody }: GatewayOperation, model: string | null): string {
  const example = parsedJson(exampleBody ?? '{}')
  if (model === null || typeof example !== 'object' || example === null || !('model' in example))
    return exampleBody ?? ''
  return JSON.stringify({ ...example, model })
}

/** Placeholders are meant for people to replace. */
function readable(path: string): string {
  return path.replace(/%3C([\w.-]+)%3E/g, '<$1>')
}
