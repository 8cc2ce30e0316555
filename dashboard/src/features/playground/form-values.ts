import type { GatewayOperation, OperationField } from '../../api/playground/operations.ts'
import type { TryCall } from '../../api/playground/try-call.ts'
import { PLAYGROUND_TEXT as TEXT } from '../../messages/playground.ts'

/** The entered values by field name; empty for fields that are not sent. */
export type FormValues = Readonly<Record<string, string>>

export function countWords(text: string): number {
  return text.trim() === '' ? 0 : text.trim().split(/\s+/).length
}

/** Counts characters as the server does: by code point. */
export function countCharacters(text: string): number {
  return [...text].length
}

/** The error of a field, or null. The server validates it again. */
export function validateField(field: OperationField, value: string | undefined): string | null {
  const { required, type, min, max, maxLength, maxWords } = field
  if (value === undefined || value.trim() === '') return required ? TEXT.needed : null
  if (type === 'integer' || type === 'number') {
    const number = Number(value)
    if (!Number.isFinite(number) || (type === 'integer' && !Number.isInteger(number))) return TEXT.notNumber
    if ((min !== null && number < min) || (max !== null && number > max)) return TEXT.outOfRange(min, max)
  }
  if (maxLength !== null && countCharacters(value) > maxLength) return TEXT.tooLong
  return maxWords !== null && countWords(value) > maxWords ? TEXT.tooLong : null
}

/** The call that the form describes; null if its body is not valid JSON. */
export function buildCall(
  operation: GatewayOperation,
  values: FormValues,
  body: string,
): Omit<TryCall, 'payer'> | null {
  const query = new URLSearchParams()
  const headers: Record<string, string> = {}
  const members: Record<string, unknown> = {}
  let path = operation.path
  for (const field of operation.fields) {
    const value = values[field.name]
    if (value === undefined || value.trim() === '') continue
    if (field.location === 'path') path = path.replace(`{${field.name}}`, encodeURIComponent(value))
    else if (field.location === 'header') headers[field.name] = value
    else if (field.location === 'body') members[field.name] = sentValue(field, value)
    else for (const one of field.type === 'list' ? linesOf(value) : [value]) query.append(field.name, one)
  }
  const sent = operation.exampleBody === null ? members : jsonOf(body)
  if (sent === undefined) return null
  const search = query.toString()
  return {
    method: operation.method,
    path: search === '' ? path : `${path}?${search}`,
    headers,
    body: operation.method === 'POST' ? sent : undefined,
  }
}

function sentValue({ type }: OperationField, value: string): unknown {
  if (type === 'integer' || type === 'number') return Number(value)
  if (type === 'boolean') return value === 'true'
  return type === 'list' ? linesOf(value) : value
}

function linesOf(value: string): string[] {
  return value.split('\n').filter((line) => line.trim() !== '')
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
