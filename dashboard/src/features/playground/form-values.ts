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
