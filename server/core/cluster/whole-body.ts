/** Of a larger body that is sent after an await, Bun makes a system call for each part of each header. */
const CORKED_BYTES = 15_000
const WHOLE = Symbol('whole body')

interface Marked extends Response {
  [WHOLE]?: string | Uint8Array<ArrayBuffer>
}

/** Remembers of a response what its body is, so that it can be sent to another node without a stream, which costs more than the rest. */
export function withWholeBody(response: Response, body: string | Uint8Array<ArrayBuffer>): Response {
  ;(response as Marked)[WHOLE] = body
  return response
}

/** The body of a response, if `withWholeBody` has seen it. */
export function wholeBodyOf(response: Response): string | Uint8Array<ArrayBuffer> | undefined {
  return (response as Marked)[WHOLE]
}

/** A body from which to make a response, so that Bun sends it together with the headers: itself, or one direct stream, which has no length. */
export function corked(body: string | Uint8Array<ArrayBuffer>): string | Uint8Array<ArrayBuffer> | ReadableStream {
  if (body.length < CORKED_BYTES) return body
  // A source type of Bun's that the DOM types do not include.
  const direct = {
    type: 'direct',
    async pull(controller: { write(chunk: string | Uint8Array): void; close(): void }) {
      controller.write(body)
      controller.close()
    },
  } as unknown as UnderlyingDefaultSource
  return new ReadableStream(direct)
}
