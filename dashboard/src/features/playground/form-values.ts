import { parsedJson } from '../../../../server/core/json.ts'
import type { OperationField } from '../../api/playground/operations.ts'
import { PLAYGROUND_TEXT as TEXT } from '../../messages/playground.ts'

export function countWords(text: string): number {
  return text.trim() === '' ? 0 : text.trim().split(/\s+/).length
}

/** Counts characters as the server does: by code point. */
export function countCharacters(text: string): number {
  return [...text].length
}

/** The error of a field, or null. The server validates it again. */
export function validateField(
  field: OperationField,
  value: string | undefined,
  files: readonly File[] = [],
): string | null {
  const { required, type, min, max, maxLength, maxWords } = field
  if (type === 'file') return files.length === 0 ? (required ? TEXT.fileNeeded : null) : filesProblem(files)
  if (value === undefined || value.trim() === '') return required ? TEXT.needed : null
  if (type === 'integer' || type === 'number') {
    const number = Number(value)
    if (!Number.isFinite(number) || (type === 'integer' && !Number.isInteger(number))) return TEXT.notNumber
    if ((min !== null && number < min) || (max !== null && number > max)) return TEXT.outOfRange(min, max)
  }
  if (maxLength !== null && countCharacters(value) > maxLength) return TEXT.tooLong
  if (type === 'json' && parsedJson(value) === undefined) return TEXT.bodyWrong
  return maxWords !== null && countWords(value) > maxWords ? TEXT.tooLong : null
}

/** The largest form that an operation takes. */
const MAX_FILE_BYTES = 16 * 1024 * 1024

function filesProblem(files: readonly File[]): string | null {
  return files.reduce((sum, { size }) => sum + size, 0) > MAX_FILE_BYTES ? TEXT.fileTooLarge : null
}
