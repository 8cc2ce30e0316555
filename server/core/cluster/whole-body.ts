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
