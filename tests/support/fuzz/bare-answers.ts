/**
 * The one place that says when Bun answers by itself, before any code of ours runs: a status line, `Connection: close`, no
 * body, no ids, no limit headers; or it closes without a word. Seen on Bun 1.4.5, by raw condition. Whatever is not here must be
 * answered by us, whole.
 */
export const BARE_ANSWERS = {
  /** The first line is no request line; the target is neither a path nor an absolute address; or HTTP/1.1 came without `Host`. */
  'no request line': [400, 505],
  /** A version other than 1.0 and 1.1, which is also what a space or control character in the target looks like. */
  'no HTTP/1.x': [505],
  /** A header line without a colon, folded, with a name that is no token, or with a control character in its value. */
  'no header line': [400],
  /** More than 16 KiB of request line and headers, or more than 200 headers (Bun counts a few of its own). The rest may be cut off by a reset. */
  'head too large': [431, 'closed'],
  /** `Content-Length` that is no number, or two that differ, or beside `Transfer-Encoding`, or that other than chunked, or with HTTP/1.0. */
  'no body length': [400],
  /** A chunk whose size or end is wrong, or trailers. */
  'no chunk': [400, 'closed'],
  /** Bytes behind the end of a body that are no next request. */
  'bytes behind': [400, 'closed'],
  /** A method that Node's list does not hold: closed without a word. */
  'no method': ['closed'],
  /** The caller's side of the connection ended before the answer: Bun takes it for a hang-up, whole request or not. */
  'hung up': [400, 'closed'],
  /** A request behind one whose answer is still being made: Bun closes, both unanswered. */
  'answer under way': ['closed'],
} as const satisfies Readonly<Record<string, readonly (number | 'closed')[]>>

export type BareCondition = keyof typeof BARE_ANSWERS
