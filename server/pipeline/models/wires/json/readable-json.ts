import { type Json, parsedJson, partsOf } from '../../../../core/json'

const QUOTE = 0x22
const BACKSLASH = 0x5c

/** The deepest nesting that the gateway reads of a model's answer: far above what a tool call needs, far below what a recursion takes. */
export const READ_DEPTH = 1_000

/**
 * The value of a JSON text of any depth; undefined if it is not JSON. Parts nested deeper than `READ_DEPTH` are read as null, so that the
 * usage report next to them is found. The bytes themselves are passed on as they came.
 */
export function readableJson(text: string): unknown {
  return parsedJson(withoutDeepParts(text))
}

/** Whether an answer or event reports a failure. `null`, and an error without any content such as `""` or `{"message": ""}`, is none. */
export function reportsFailure(json: Json): boolean {
  return hasContent(json['error'])
}

function hasContent(value: unknown): boolean {
  return typeof value === 'object' && value !== null ? partsOf(value).some(Boolean) : Boolean(value)
}

function withoutDeepParts(text: string): string {
  if (text.length <= READ_DEPTH) return text
  const parts: string[] = []
  let depth = 0
  let from = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = endOfString(text, at + 1)
    else if (code === 0x7b || code === 0x5b) {
      if (depth++ === READ_DEPTH) parts.push(text.slice(from, at), 'null')
    } else if (code === 0x7d || code === 0x5d) {
      if (--depth === READ_DEPTH) from = at + 1
    }
  }
  return parts.length === 0 ? text : parts.join('') + text.slice(from)
}

/** The index of the quote that ends the string whose content begins at `from`, or the end of the text. */
export function endOfString(json: string, from: number): number {
  for (let at = json.indexOf('"', from); at >= 0; at = json.indexOf('"', at + 1)) {
    let slashes = 0
    while (json.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes++
    if (slashes % 2 === 0) return at
  }
  return json.length
}
