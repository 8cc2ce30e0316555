import { boundedBytes } from '../../../../core/bounded-bytes'

/** The largest answer of a database that is taken: pages of rows are a hundredth of it. */
const MAX_BYTES = 64 * 1024 * 1024

/**
 * Asks a database over HTTP: in time, no more than so many bytes, and never compressed, so that what comes is what is counted.
 * A broken or hostile database costs an error, not the process.
 */
export function boundedFetch({ deadlineMs, maxBytes = MAX_BYTES }: { deadlineMs: () => number; maxBytes?: number }) {
  return async (request: Request): Promise<Response> => {
    const headers = new Headers(request.headers)
    headers.set('accept-encoding', 'identity')
    const answer = await fetch(new Request(request, { headers }), {
      decompress: false,
      redirect: 'error',
      signal: AbortSignal.timeout(deadlineMs()),
    })
    const encoding = answer.headers.get('content-encoding') ?? 'identity'
    const isPlain = encoding.trim().toLowerCase() === 'identity'
    const body = isPlain ? await boundedBytes(answer.body, maxBytes) : null
    if (body) return new Response(body, { status: answer.status, headers: answer.headers })
    await answer.body?.cancel().catch(() => undefined)
    throw new Error(
      isPlain
        ? `the database answered with more than ${maxBytes} bytes`
        : `the database answered in the encoding ${encoding}, which was not asked for`,
    )
  }
}
