import { isJson } from '../../json'
import type { Figure, SuccessRule } from '../api'
import { type Decimal, decimalOf, parseDecimal } from './decimal'

/** The answer of an upstream, as far as a price or a success rule needs it. */
export interface UpstreamAnswer {
  readonly status: number
  readonly body: Uint8Array
  readonly headers: { get(name: string): string | null }
}

/** An answer that is read as text and JSON at most once. */
export class ReadAnswer {
  readonly answer: UpstreamAnswer
  private readText: string | null = null
  private parsed: { readonly value: unknown } | null = null

  constructor(answer: UpstreamAnswer) {
    this.answer = answer
  }

  get text(): string {
    this.readText ??= new TextDecoder().decode(this.answer.body)
    return this.readText
  }

  /** Undefined if it is not JSON. */
  get json(): unknown {
    this.parsed ??= { value: parsedOr(this.text) }
    return this.parsed.value
  }
}

/**
 * The figure of an answer, exact: the length of a list, or a number of at least 0 with at most 18 digits, as a JSON number or as text.
 * Null if it is missing or anything else.
 */
export function readFigure(figure: Figure, read: ReadAnswer): Decimal | null {
  switch (figure.kind) {
    case 'header':
      return parseDecimal(read.answer.headers.get(figure.name)?.trim() ?? '')
    case 'characters':
      return decimalOf(charactersIn(read.text))
    case 'paid':
      return null // no answer says it
    case 'kilobytes':
    case 'events':
      return decimalOf(Math.ceil(read.answer.body.byteLength / 1024))
    case 'pointer': {
      const value = atPointer(read.json, figure.pointer)
      if (Array.isArray(value)) return decimalOf(value.length)
      if (typeof value === 'string') return parseDecimal(value)
      return typeof value === 'number' ? parseDecimal(sourceOf(read.text, figure.pointer) ?? '') : null
    }
  }
}

/** Whether an answer is a success, which is charged. */
export function isSuccess({ minStatus, maxStatus, conditions }: SuccessRule, read: ReadAnswer): boolean {
  const { status } = read.answer
  if (status < minStatus || status > maxStatus) return false
  for (const condition of conditions) {
    const value = atPointer(read.json, condition.pointer)
    if ('equals' in condition ? value !== condition.equals : !isFilled(value)) return false
  }
  return true
}

/** The value at a JSON Pointer (RFC 6901), or undefined. Only own members count. */
function atPointer(value: unknown, pointer: string): unknown {
  return tokensOf(pointer).reduce(childAt, value)
}

/** Whether a text is a JSON Pointer. */
export function isPointer(text: string): boolean {
  return text === '' || (text.startsWith('/') && !/~(?![01])/.test(text))
}

function childAt(value: unknown, token: string): unknown {
  if (Array.isArray(value)) return /^(0|[1-9]\d{0,9})$/.test(token) ? value[Number(token)] : undefined
  return isJson(value) && Object.hasOwn(value, token) ? value[token] : undefined
}

function tokensOf(pointer: string): string[] {
  if (pointer === '') return []
  return pointer
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** Counted one by one: a list of them would take a hundred megabytes for a long answer. */
function charactersIn(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

/** The text of the number at a pointer, as the upstream wrote it: a double would round it. Null also if it is nested too deep to be read. */
function sourceOf(text: string, pointer: string): string | null {
  const last = tokensOf(pointer).at(-1)
  const sources = new WeakMap<object, string>()
  let root: string | null = null
  const value = parsedOr(text, function (this: object, key, read, context?: { source?: string }) {
    if (typeof read === 'number' && context?.source !== undefined) {
      if (last === undefined) root = context.source
      else if (key === last) sources.set(this, context.source)
    }
    return read
  })
  if (last === undefined) return root
  const holder = tokensOf(pointer).slice(0, -1).reduce(childAt, value)
  return typeof holder === 'object' && holder !== null ? (sources.get(holder) ?? null) : null
}

function isFilled(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return false
  if (Array.isArray(value)) return value.length > 0
  return isJson(value) ? Object.keys(value).length > 0 : true
}

function parsedOr(text: string, reviver?: Parameters<typeof JSON.parse>[1]): unknown {
  try {
    return JSON.parse(text, reviver)
  } catch {
    return undefined
  }
}
