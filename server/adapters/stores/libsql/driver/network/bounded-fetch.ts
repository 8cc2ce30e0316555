import { boundedBytes } from '../../../../../core/bounded-bytes'

/** Sends a request to a database server. */
export type Send = (request: Request) => Promise<Response>

/** The largest response accepted from a database. Pages of rows are a hundredth of it. */
const MAX_BYTES = 64 * 1024 * 1024

/**
 * Sends a request to a database over HTTP, with limits of time and size. Refuses compressed responses, so that the limit applies to
 * the decoded size. A broken or hostile database causes an error and cannot crash the process.
 */
export function boundedFetch({
  deadlineMs,
  maxBytes = MAX_BYTES,
}: {
  readonly deadlineMs: number
  readonly maxBytes?: number
}): Send {
  return async (request) => {
    const headers = new Headers(request.headers)
    headers.set('accept-encoding', 'identity')
    const answer = await fetch(new Request(request, { headers }), {
      decompress: false,
      redirect: 'error',
      signal: AbortSignal.timeout(deadlineMs),
    })
    const encoding = answer.headers.get('content-encoding') ?? 'identity'
    const isPlain = encoding.trim().toLowerCase() === 'identity'
    const body = isPlain ? await boundedBytes(answer.body, maxBytes) : null
    if (body) return new Response(body, { status: answer.status, headers: answer.headers })
    await answer.body?.cancel().catch(() => undefined)
    throw new Error(
      isPlain
        ? `the database answered with more than ${maxBytes} bytes`
        : `the database answered in the encoding ${encoding}, which was not requested`,
    )
  }
}
