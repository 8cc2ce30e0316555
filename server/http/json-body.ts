import { boundedBytes } from '../core/bounded-bytes'
import { type Failure, failure } from '../core/failure'
import { no, ok, type Result } from '../core/result'

/** Most bytes of a JSON body (spec-answers 2). */
const MAX_JSON_BYTES = 1024 * 1024

/**
 * Reads a JSON body: undefined when there is none, 415 when it is not declared as JSON, 413 over the limit (also when the
 * caller lies about its length), 400 when it cannot be parsed.
 */
export async function readJson(request: Request, maxBytes = MAX_JSON_BYTES): Promise<Result<unknown, Failure>> {
  const read = await readJsonBytes(request, maxBytes)
  if (!read.ok) return read
  if (!read.value) return ok(undefined)
  try {
    return ok(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(read.value)))
  } catch {
    return no(failure('json_parse_error', 'The body is not valid JSON in UTF-8.'))
  }
}

/** The bytes of a body that is declared as JSON, unparsed; null when there is none. */
export async function readJsonBytes(
  request: Request,
  maxBytes: number,
  mostMs?: number,
): Promise<Result<Uint8Array<ArrayBuffer> | null, Failure>> {
  const tooLarge = () => no(failure('payload_too_large', `The body may have at most ${maxBytes} bytes.`))
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) return tooLarge()
  const bytes = await inTime(readBytes(request, maxBytes), mostMs)
  if (bytes === 'too large') return tooLarge()
  if (bytes === 'cut') return no(failure('invalid_request', 'The body ended before its time.'))
  if (bytes.byteLength === 0) return ok(null)
  const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() ?? ''
  if (type !== 'application/json' && !/^application\/[\w.+-]+\+json$/.test(type))
    return no(failure('unsupported_media_type', 'The body must be JSON, sent with Content-Type: application/json.'))
  return ok(bytes)
}

/** A body that does not come in time is as one that was cut. */
async function inTime<T>(reading: Promise<T | 'cut'>, mostMs: number | undefined): Promise<T | 'cut'> {
  if (mostMs === undefined) return reading
  const late = Promise.withResolvers<'cut'>()
  const timer = setTimeout(() => late.resolve('cut'), mostMs)
  const first = await Promise.race([reading, late.promise])
  clearTimeout(timer)
  return first
}

async function readBytes(request: Request, maxBytes: number): Promise<Uint8Array<ArrayBuffer> | 'too large' | 'cut'> {
  try {
    return (await boundedBytes(request.body, maxBytes)) ?? 'too large'
  } catch {
    return 'cut'
  }
}
