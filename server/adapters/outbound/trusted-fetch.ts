import type { OutboundFetch } from '../../core/outbound/outbound-fetch'
import { err } from '../../core/result'
import { PRODUCT } from '../../core/version'
import { Deadline, oneHop } from './one-hop'

/**
 * Fetches URLs that the operator configured, which may be private. Bounded like every outbound call; it follows
 * no redirects, because the operator did not configure where they lead.
 */
export const trustedFetch: OutboundFetch = async (request) => {
  const url = URL.parse(request.url)
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    return err({ kind: 'bad_url', reason: 'not an http or https URL' })
  const headers = new Headers(request.headers)
  if (!headers.has('user-agent')) headers.set('user-agent', PRODUCT)
  const method = request.method ?? 'GET'
  return oneHop({
    url,
    connectTo: url.href,
    keepAlive: method === 'GET' || method === 'HEAD',
    method,
    headers,
    ...(request.body !== undefined && { body: request.body }),
    maxBytes: request.maxBytes,
    ...(request.contentTypes && { contentTypes: request.contentTypes }),
    deadline: new Deadline(request.timeoutMs, request.signal),
  })
}
