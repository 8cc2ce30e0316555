import { parseDocument } from 'yaml'
import { MAX_DOCUMENT_BYTES } from '../../core/apis/document-size'
import { isJson, type Json } from '../../core/json'
import { isValueWithin, type JsonBounds, JsonScan } from '../../core/json-bounds'
import { err, ok, type Result } from '../../core/result'

const MAX_ALIASES = 1_000
const PIECE = 64 * 1024
const BOUNDS: JsonBounds = { depth: 100, parts: 5_000_000 }

/** Parses an untrusted JSON or YAML document. The error follows the document's name. */
export function readDocument(text: string): Result<Json, string> {
  const bytes = Buffer.byteLength(text)
  if (bytes > MAX_DOCUMENT_BYTES) return err(`is larger than ${MAX_DOCUMENT_BYTES / 1e6} MB`)
  const plain = text.startsWith('\ufeff') ? text.slice(1) : text
  const parsed = plain.trimStart().startsWith('{') ? readJson(plain) : readYaml(plain)
  if (!parsed.ok) return parsed
  return isJson(parsed.value) ? ok(parsed.value) : err('is not an object')
}

function readJson(text: string): Result<unknown, string> {
  if (!isWithinBounds(text)) return err(TOO_NESTED)
  try {
    return ok(JSON.parse(text))
  } catch {
    // YAML may start with a brace too.
    const yaml = readYaml(text)
    return yaml.ok ? yaml : err('is neither valid JSON nor valid YAML')
  }
}

/** Looks at the text piece by piece, which takes less memory than all of its bytes. */
function isWithinBounds(text: string): boolean {
  const scan = new JsonScan(BOUNDS)
  const encoder = new TextEncoder()
  const bytes = new Uint8Array(PIECE * 3)
  for (let at = 0; at < text.length; at += PIECE) {
    const { written } = encoder.encodeInto(text.slice(at, at + PIECE), bytes)
    if (!scan.push(bytes.subarray(0, written))) return false
  }
  return true
}

function readYaml(text: string): Result<unknown, string> {
  try {
    const document = parseDocument(text, { merge: true, prettyErrors: false, logLevel: 'silent' })
    const problem = document.errors[0]
    if (problem) return err(`is not valid YAML: ${problem.code} at character ${problem.pos[0]}`)
    const value: unknown = document.toJS({ maxAliasCount: MAX_ALIASES })
    return isValueWithin(value, BOUNDS) ? ok(value) : err(TOO_NESTED)
  } catch (error) {
    if (error instanceof ReferenceError) return err(`uses more than ${MAX_ALIASES} aliases, or unknown ones`)
    // The parser recurses: a document that is nested without end is a RangeError.
    return err(error instanceof RangeError ? TOO_NESTED : 'is not valid YAML')
  }
}

const TOO_NESTED = `is nested deeper than ${BOUNDS.depth} levels, or has more than 5 million parts`
