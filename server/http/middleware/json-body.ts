import { type Failure, failure } from '../../core/failure'
import { BEYOND_BODY_BOUNDS, BODY_BOUNDS, JsonScan } from '../../core/json-bounds'
import { SHORT_BODY_BYTES } from '../../core/models/body-reader'
import { no, ok, type Result } from '../../core/result'
import { type BodyTerms, type TakenBody, takeBody } from './intake'

/** Most bytes of a JSON body (spec-answers 2). */
const MAX_JSON_BYTES = SHORT_BODY_BYTES

/**
 * Reads a JSON body: undefined when there is none, 415 when it is not declared as JSON, 413 over the limit (also when the
 * caller lies about its length), 400 when it cannot be parsed, or when it is made of more than a parser should be given.
 */
export async function readJson(request: Request): Promise<Result<unknown, Failure>> {
  const taken = await readJsonBytes(request, MAX_JSON_BYTES)
  if (!taken.ok) return taken
  const { bytes, giveBack } = taken.value
  try {
    return ok(bytes.byteLength === 0 ? undefined : parsedJson(bytes))
  } catch {
    return no(failure('json_parse_error', 'The body is not valid JSON in UTF-8.'))
  } finally {
    giveBack()
  }
}

/**
 * The bytes of a body that is declared as JSON, unparsed; none when there is none. A short one keeps to the bounds; the rest of a
 * long one is looked at by who parses it, off this thread.
 */
export function readJsonBytes(
  request: Request,
  mostBytes: number,
  mostMs?: number,
): Promise<Result<TakenBody, Failure>> {
  return takeBody(request, { mostBytes, ...(mostMs !== undefined && { mostMs }), judge: jsonJudge(request.headers) })
}

/** The request with its body read, for whoever reads and judges it in another shape. JSON in it keeps to the bounds. */
export async function withTakenBody(request: Request, mostBytes: number): Promise<Result<Request, Failure>> {
  if (!request.body) return ok(request)
  const isJson = isJsonType(request.headers.get('content-type'))
  const judge = isJson ? jsonJudge(request.headers) : () => null
  const taken = await takeBody(request, { mostBytes, judge })
  if (!taken.ok) return taken
  const { method, headers, signal } = request
  taken.value.giveBack()
  return ok(new Request(request.url, { method, headers, signal, body: taken.value.bytes }))
}

function jsonJudge(headers: Headers): BodyTerms['judge'] {
  const scan = new JsonScan(BODY_BOUNDS)
  let isDeclared = false
  let scanned = 0
  return (chunk) => {
    isDeclared ||= isJsonType(headers.get('content-type'))
    if (!isDeclared) return NOT_DECLARED
    if (scanned > SHORT_BODY_BYTES) return null
    scanned += chunk.byteLength
    return scan.push(chunk) ? null : TOO_MUCH
  }
}

const NOT_DECLARED = failure(
  'unsupported_media_type',
  'The body must be JSON, sent with Content-Type: application/json.',
)
const TOO_MUCH = failure('invalid_request', BEYOND_BODY_BOUNDS)

function isJsonType(header: string | null): boolean {
  const type = header?.split(';')[0]?.trim().toLowerCase() ?? ''
  return type === 'application/json' || /^application\/[\w.+-]+\+json$/.test(type)
}

function parsedJson(bytes: Uint8Array): unknown {
  return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
}
