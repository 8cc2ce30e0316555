import type { SpanContext } from '@opentelemetry/api'

/** The longest header that is read. Versions after 00 may append parts, which are ignored. */
const MAX_LENGTH = 256
const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const ZEROS = /^0+$/

/** Reads a `traceparent` (W3C Trace Context). Null for one that is not valid. */
export function parseTraceparent(text: string | null): SpanContext | null {
  if (text === null || text.length > MAX_LENGTH) return null
  const [, version, traceId = '', spanId = '', flags = '', rest] = FORM.exec(text) ?? []
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return null
  if (ZEROS.test(traceId) || ZEROS.test(spanId)) return null
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true }
}

export function traceparentOf({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-0${traceFlags & 1}`
}
