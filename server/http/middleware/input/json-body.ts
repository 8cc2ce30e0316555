import { type Failure, failure } from '../../../core/failure'
import { BODY_BOUNDS, beyondBounds, type JsonBounds, JsonScan, SERVED_BODY_BOUNDS } from '../../../core/json-bounds'
import { err, ok, type Result } from '../../../core/result'
import { SHORT_BODY_BYTES } from '../../../pipeline/models/body-reader'
import { type BodySource, type BodyTerms, takeBody } from './intake'

/** Maximum size of a JSON body (spec D2). */
const MAX_JSON_BYTES = 1024 * 1024
/** How much of a declared long body to scan here; the worker that parses it scans the rest. */
const LONG_BODY_SCAN_BYTES = 64 * 1024

export interface BodySize {
  readonly maxBytes: number
  readonly bounds: JsonBounds
}

const SHORT: BodySize = { maxBytes: MAX_JSON_BYTES, bounds: SERVED_BODY_BOUNDS }

/** Of callers without an account: it takes well below a millisecond to read. */
export const STRANGERS_BODY: BodySize = { ...SHORT, maxBytes: 64 * 1024 }

/** Of operators, who send whole API documents and catalogs. */
export const OPERATOR_BODY: BodySize = { maxBytes: 32 * 1024 * 1024, bounds: { depth: 100, parts: 2_000_000 } }

/**
 * Reads a JSON body: undefined if there is none, 415 if it is not declared as JSON, 413 over the limit (even if the caller lies
 * about its length), 400 if it cannot be parsed or its structure exceeds the bounds for safe parsing.
 */
export async function readJson(source: BodySource, size: BodySize = SHORT): Promise<Result<unknown, Failure>> {
  const taken = await takeBody(source, new JsonTerms(source.request.headers, size))
  if (!taken.ok) return taken
  const { chunks, byteLength } = taken.value
  try {
    if (byteLength === 0) return ok(undefined)
    const bytes = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, byteLength)
    return ok(JSON.parse(UTF8.decode(bytes)))
  } catch {
    return err(failure('json_parse_error', 'The body is not valid JSON in UTF-8.'))
  } finally {
    taken.value.giveBack()
  }
}

/**
 * The unparsed chunks of a body that is declared as JSON; none if there is no body. A short body has been checked against the
 * bounds; the rest of a long one is checked by the worker that parses it.
 */
export function readJsonChunks(source: BodySource, maxBytes: number, maxMs?: number): ReturnType<typeof takeBody> {
  return takeBody(source, new JsonTerms(source.request.headers, { maxBytes, bounds: BODY_BOUNDS }, maxMs))
}

/** The request with its body read into memory, for handlers that parse it themselves. JSON and forms are checked against their bounds. */
export async function withTakenBody(source: BodySource, maxBytes: number): Promise<Result<Request, Failure>> {
  const { request } = source
  if (!request.body) return ok(request)
  const { method, headers, signal } = request
  const isJson = isJsonType(headers.get('content-type'))
  const terms = isJson
    ? new JsonTerms(headers, { maxBytes, bounds: SERVED_BODY_BOUNDS })
    : { maxBytes, check: () => null }
  const taken = await takeBody(source, terms)
  if (!taken.ok) return taken
  const { chunks, byteLength } = taken.value
  taken.value.giveBack()
  const body = Buffer.concat(chunks, byteLength)
  if (hasTooManyFields(body, headers.get('content-type') ?? '')) return err(TOO_MANY_FIELDS)
  return ok(new Request(request.url, { method, headers, signal, body }))
}

/** A form is parsed by the serving thread: a mebibyte of empty fields would block it for 600 ms. */
const MAX_FORM_FIELDS = 1000
const TOO_MANY_FIELDS = failure(
  'invalid_request',
  `The form has more than ${MAX_FORM_FIELDS} fields, or a boundary that is not one of RFC 2046.`,
)
/** The whole value, so that no parser can read another one. */
const BOUNDARY =
  /^multipart\/form-data *; *(?:charset=[\w-]+ *; *)?boundary=("?)([\w'()+,./:=?-]{1,70})\1 *(?:; *charset=[\w-]+)?$/i

/** What separates the parts of a form; null if it is none. */
export function formBoundary(headers: Headers): string | null {
  return BOUNDARY.exec(headers.get('content-type')?.trim() ?? '')?.[2] ?? null
}

function hasTooManyFields(body: Buffer, contentType: string): boolean {
  const type = contentType.trim()
  if (/^application\/x-www-form-urlencoded\b/i.test(type)) return occursMoreThan(MAX_FORM_FIELDS, body, '&')
  if (!/^multipart\/form-data\b/i.test(type)) return false
  const boundary = BOUNDARY.exec(type)?.[2]
  return boundary === undefined || occursMoreThan(MAX_FORM_FIELDS, body, `--${boundary}`)
}

function occursMoreThan(max: number, bytes: Buffer, text: string): boolean {
  let count = 0
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + text.length)) if (++count > max) return true
  return false
}

/** The terms of a body that must be declared as JSON, and is scanned while it arrives. */
class JsonTerms implements BodyTerms {
  readonly maxBytes: number
  readonly maxMs: number | undefined
  private readonly headers: Headers
  private readonly bounds: JsonBounds
  private readonly scan: JsonScan
  private readonly maxScanned: number
  private received = 0

  constructor(headers: Headers, { maxBytes, bounds }: BodySize, maxMs?: number) {
    const isLong = Number(headers.get('content-length') ?? 0) > SHORT_BODY_BYTES
    this.maxBytes = maxBytes
    this.maxMs = maxMs
    this.headers = headers
    this.bounds = bounds
    this.scan = new JsonScan(bounds)
    this.maxScanned = isLong ? LONG_BODY_SCAN_BYTES : SHORT_BODY_BYTES
  }

  get parts(): number | null {
    return this.received <= this.maxScanned ? this.scan.partsSoFar : null
  }

  check(chunk: Uint8Array): Failure | null {
    if (this.received === 0 && !isJsonType(this.headers.get('content-type'))) return NOT_DECLARED
    const left = Math.max(0, this.maxScanned - this.received)
    this.received += chunk.byteLength
    // A chunk may be many mebibytes, so only the beginning of a long body is scanned here.
    const isWithin = this.scan.push(chunk.byteLength > left ? chunk.subarray(0, left) : chunk)
    return isWithin ? null : failure('invalid_request', beyondBounds(this.bounds))
  }
}

const NOT_DECLARED = failure(
  'unsupported_media_type',
  'The body must be JSON, sent with Content-Type: application/json.',
)

function isJsonType(header: string | null): boolean {
  if (header === 'application/json') return true
  const type = header?.split(';')[0]?.trim().toLowerCase() ?? ''
  return type === 'application/json' || /^application\/[\w.+-]+\+json$/.test(type)
}

const UTF8 = new TextDecoder('utf-8', { fatal: true })
