import type { AppendResult } from './log-appender'

/** Messages to the worker of the log file, answered in the order sent. */
export type LogRequest =
  /** `reserve`: how many bytes of the disk are kept for charges of calls in progress. */
  | { readonly op: 'open'; readonly path: string; readonly reserve: number }
  | { readonly op: 'append'; readonly number: number; readonly payload: string }
  | { readonly op: 'empty' }
  /** Takes back the reserve. */
  | { readonly op: 'reserve' }
  /** Answers only: what was sent before has ended. */
  | { readonly op: 'ping' }
  /** Copies the file at the log's path to `to`, then empties the log. */
  | { readonly op: 'set_aside'; readonly to: string }
  | { readonly op: 'close' }

/** `bytes`: the length of the line. `full`: why the reserve is not there; null while it is. */
export type LogReply =
  | { readonly op: 'append'; readonly result: AppendResult; readonly bytes: number; readonly full: string | null }
  | { readonly op: 'reserve'; readonly full: string | null }
  | { readonly op: 'done' }
  | { readonly op: 'failed'; readonly reason: string }
