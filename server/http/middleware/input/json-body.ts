import { type Failure, failure } from '../../../core/failure'
import { BODY_BOUNDS, beyondBounds, type JsonBounds, JsonScan, SERVED_BODY_BOUNDS } from '../../../core/json-bounds'
import { err, ok, type Result } from '../../../core/result'
import { type ReceivedBody, SHORT_BODY_BYTES } from '../../../pipeline/models/body-reader'
import { type BodySource, type BodyTerms, type TakenBody, takeBody } from './intake'

/** Maximum size of a JSON body (spec D2). */
const MAX_JSON_BYTES = 1024 * 1024
/** How much of a declared long body to scan here; the worker that parses it scans the rest. */
const LONG_BODY_SCAN_BYTES = 64 * 1024

/** How large a body may be. */
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
  const { check } = boundsCheck(source.request.headers, size.bounds)
  const taken = await takeBody(source, { maxBytes: size.maxBytes, check })
  if (!taken.ok) return taken
  const { chunks, byteLength, giveBack } = taken.value
  try {
    return ok(
      byteLength === 0
        ? undefined
        : parsedJson(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, byteLength)),
    )
  } catch {
    return err(failure('json_parse_error', 'The body is not valid JSON in UTF-8.'))
  } finally {
    giveBack()
  }
}

/**
 * The unparsed chunks of a body that is declared as JSON; none if there is no body. A short body has been checked against the
 * bounds; the rest of a long one is checked by the worker that parses it.
 */
export async function readJsonChunks(
  source: BodySource,
  maxBytes: number,
  maxMs?: number,
): Promise<Result<TakenBody & ReceivedBody, Failure>> {
  const { check, parts } = boundsCheck(source.request.headers, BODY_BOUNDS)
  const taken = await takeBody(source, { maxBytes, ...(maxMs !== undefined && { maxMs }), check })
  return taken.ok ? ok({ ...taken.value, parts: parts() }) : taken
}

/** The request with its body read into memory, for handlers that parse it themselves. JSON and forms are checked against their bounds. */
export async function withTakenBody(source: BodySource, maxBytes: number): Promise<Result<Request, Failure>> {
  const { request } = source
  if (!request.body) return ok(request)
  const isJson = isJsonType(request.headers.get('content-type'))
  const check = isJson ? boundsCheck(request.headers, SERVED_BODY_BOUNDS).check : () => null
  const taken = await takeBody(source, { maxBytes, check })
  if (!taken.ok) return taken
  const { method, headers, signal } = request
  const { chunks, byteLength, giveBack } = taken.value
  giveBack()
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

interface BoundsCheck {
  readonly check: BodyTerms['check']
  /** Number of JSON parts in the body; null if it was not scanned to the end. */
  parts(): number | null
}

function boundsCheck(headers: Headers, bounds: JsonBounds): BoundsCheck {
  const scan = new JsonScan(bounds)
  const tooMuch = failure('invalid_request', beyondBounds(bounds))
  const isLong = Number(headers.get('content-length') ?? 0) > SHORT_BODY_BYTES
  const maxScanned = isLong ? LONG_BODY_SCAN_BYTES : SHORT_BODY_BYTES
  let isDeclared = false
  let received = 0
  return {
    check: (chunk) => {
      isDeclared ||= isJsonType(headers.get('content-type'))
      if (!isDeclared) return NOT_DECLARED
      // A chunk may be many mebibytes, so only the beginning of a long body is scanned here.
      const part = chunk.subarray(0, Math.max(0, maxScanned - received))
      received += chunk.byteLength
      return scan.push(part) ? null : tooMuch
    },
    parts: () => (received <= maxScanned ? scan.partsSoFar : null),
  }
}

const NOT_DECLARED = failure(
  'unsupported_media_type',
  'The body must be JSON, sent with Content-Type: application/json.',
)

function isJsonType(header: string | null): boolean {
  const type = header?.split(';')[0]?.trim().toLowerCase() ?? ''
  return type === 'application/json' || /^application\/[\w.+-]+\+json$/.test(type)
}

const UTF8 = new TextDecoder('utf-8', { fatal: true })

function parsedJson(bytes: Uint8Array): unknown {
  return JSON.parse(UTF8.decode(bytes))
}
