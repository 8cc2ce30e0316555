import type { UpstreamAuth } from './api'

/** Headers that are never passed to an upstream, even if an operation declares them. */
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
  'payment',
  'payment-authorization',
  'payment-signature',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'via',
  'api-key',
  'cf-connecting-ip',
  'true-client-ip',
  'x-api-key',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-forwarded',
  'x-gateway-hops',
  'x-goog-api-key',
  'x-host',
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
  'x-original-url',
  'x-payment',
  'x-real-ip',
  'x-rewrite-url',
])

/** Response headers that are never passed to a caller: they would speak for the gateway, or about the upstream's own sessions. */
const NEVER_DOWN = new Set([
  'accept-ch',
  'age',
  'allow',
  'alt-svc',
  'api-version',
  'cache-control',
  'cache-tag',
  'clear-site-data',
  'connection',
  'content-encoding',
  'content-length',
  'content-security-policy',
  'content-security-policy-report-only',
  'critical-ch',
  'date',
  'document-policy',
  'expires',
  'idempotency-replayed',
  'keep-alive',
  'link',
  'location',
  'nel',
  'onion-location',
  'origin-agent-cluster',
  'permissions-policy',
  'proxy-authenticate',
  'refresh',
  'report-to',
  'reporting-endpoints',
  'retry-after',
  'server',
  'service-worker-allowed',
  'set-cookie',
  'set-cookie2',
  'sourcemap',
  'speculation-rules',
  'strict-transport-security',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'vary',
  'via',
  'www-authenticate',
  'x-content-type-options',
  'x-frame-options',
  'x-permitted-cross-domain-policies',
  'x-request-id',
])

/** Families of them: what browsers obey, what is the gateway's own, and what a proxy in front of the gateway obeys: places of its own, its cache. */
const FAMILIES_NEVER_DOWN =
  /^(access-control-|cross-origin-|sec-|x-gateway-|x-ratelimit-|x-cost-|x-payment-|payment-|x-accel-|x-sendfile|x-lighttpd-|x-litespeed-|x-reproxy-|surrogate-|x-middleware-|x-forwarded-)|cdn-cache-control$/

const ALWAYS_UP = ['accept', 'accept-language'] as const
const ALWAYS_DOWN = ['content-type', 'content-language', 'etag', 'last-modified'] as const

/** Whether a caller's header of this name, in lower case, may be passed to an upstream with this authentication. */
export function maySend(name: string, auth: UpstreamAuth): boolean {
  const read = asRead(name)
  if (NEVER_UP.has(read) || /^(x-forwarded-|sec-|proxy-|access-control-)/.test(read)) return false
  return !(auth.kind === 'header' && asRead(auth.name.toLowerCase()) === read)
}

/** A name as servers read it: to many (CGI, WSGI, PHP) `x_api_key` is `x-api-key`. */
function asRead(name: string): string {
  return name.replaceAll('_', '-')
}

/** Whether an upstream's header of this name, in lower case, may be passed to the caller. */
export function mayReturn(name: string): boolean {
  return !NEVER_DOWN.has(name) && !FAMILIES_NEVER_DOWN.test(name)
}

/** The names of the caller's headers that are passed up. */
export function sentNames(declared: readonly string[], auth: UpstreamAuth): string[] {
  return [...ALWAYS_UP, ...declared.filter((name) => maySend(name, auth))]
}

/** The names of the upstream's headers that are passed down. */
export function returnedNames(declared: readonly string[]): string[] {
  return [...ALWAYS_DOWN, ...declared.filter(mayReturn)]
}
