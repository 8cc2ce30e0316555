/** Request headers that belong to the connection, the credentials or the proxy: no document may declare them. */
const NEVER_UP = new Set([
  'authorization',
  'connection',
  'content-length',
  'cookie',
  'expect',
  'forwarded',
  'host',
  'idempotency-key',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'via',
])
/** OpenAPI says that parameters of these names have no meaning; the gateway sends them by the operation's content types. */
const MEANINGLESS = new Set(['accept', 'content-type'])

const NEVER_DOWN = new Set([
  'clear-site-data',
  'connection',
  'content-encoding',
  'content-length',
  'content-security-policy',
  'date',
  'keep-alive',
  'link',
  'location',
  'refresh',
  'retry-after',
  'server',
  'set-cookie',
  'strict-transport-security',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'vary',
  'via',
  'www-authenticate',
])
/** Passed down without being declared. */
const ALWAYS_DOWN = new Set(['content-type', 'content-language', 'etag', 'last-modified'])

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/

/** Whether a request header may be a parameter. */
export function mayGoUp(name: string): boolean {
  const lower = name.toLowerCase()
  if (!TOKEN.test(name) || NEVER_UP.has(lower) || MEANINGLESS.has(lower)) return false
  return !/^(x-forwarded-|proxy-|sec-|access-control-)/.test(lower)
}

/** Whether a response header that a document declares is worth naming: it may be passed down, and is not anyway. */
export function mayGoDown(name: string): boolean {
  const lower = name.toLowerCase()
  if (!TOKEN.test(name) || NEVER_DOWN.has(lower) || ALWAYS_DOWN.has(lower)) return false
  return !/^(access-control-|cross-origin-|proxy-|x-gateway-|x-ratelimit-|x-cost-|payment-)/.test(lower)
}
