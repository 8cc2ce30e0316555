import type { Config } from '../config'
import { Cors } from '../http/middleware/cors'
import { normalizeUrl } from '../http/middleware/normalize-url'
import { CompressedResponses, isCompressible } from '../http/middleware/response/compressed-response'
import { securedResponse } from '../http/middleware/response/secured-response'
import type { UnreadAnswers } from '../http/middleware/response/unread-answers'

/** Normalizes the URL of each request, adds security headers to each response and compresses those that may be. */
export function securedBy(
  { baseUrl, corsOrigins }: Config,
  unread: UnreadAnswers,
  answer: (request: Request) => Response | Promise<Response>,
) {
  const isHttps = baseUrl.startsWith('https:')
  const compressed = new CompressedResponses(unread)
  const cors = new Cors(corsOrigins)
  return async (original: Request): Promise<Response> => {
    const request = normalizeUrl(original)
    const preflight = cors.preflight(request)
    const answered = preflight
      ? withLimits(preflight, await answer(request))
      : cors.open(request, await answer(request))
    const response = securedResponse(answered, request.url, isHttps)
    return isCompressible(request) ? compressed.of(request, response) : response
  }
}

/** A preflight with the ids and limit headers that the refusal of its OPTIONS would have. */
function withLimits(preflight: Response, refusal: Response): Response {
  for (const [name, value] of refusal.headers)
    if (/^x-(ratelimit-|request-id$|gateway-request-id$)/.test(name)) preflight.headers.set(name, value)
  return preflight
}
