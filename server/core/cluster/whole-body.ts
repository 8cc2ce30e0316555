/** For a larger body sent after an await, Bun makes a system call for each part of each header. */
const CORKED_BYTES = 15_000
const WHOLE = Symbol('whole body')

interface Marked extends Response {
  [WHOLE]?: string | Uint8Array<ArrayBuffer>
}

/** Attaches the body to a response, so that it can be sent to another node without a stream, which would cost more than everything else. */
export function withWholeBody(response: Response, body: string | Uint8Array<ArrayBuffer>): Response {
  ;(response as Marked)[WHOLE] = body
  return response
}

/** The body that `withWholeBody` attached, if any. */
export function wholeBodyOf(response: Response): string | Uint8Array<ArrayBuffer> | undefined {
  return (response as Marked)[WHOLE]
}

/** Wraps a body so that Bun sends it together with the headers: the body itself, or a direct stream, which has no length. */
export function corked(body: string | Uint8Array<ArrayBuffer>): string | Uint8Array<ArrayBuffer> | ReadableStream {
  if (body.length < CORKED_BYTES) return body
  // A stream source of Bun that the DOM types do not include.
  const direct = {
    type: 'direct',
    async pull(controller: { write(chunk: string | Uint8Array): void; close(): void }) {
      controller.write(body)
      controller.close()
    },
  } as unknown as UnderlyingDefaultSource
  return new ReadableStream(direct)
}
