import type { AppendResult } from './log-appender'

/** Messages to the worker of the log file, answered in the order sent. */
export type LogRequest =
  | { readonly op: 'open'; readonly path: string }
  | { readonly op: 'append'; readonly number: number; readonly payload: string }
  | { readonly op: 'empty' }
  /** Answers only: what was sent before has ended. */
  | { readonly op: 'ping' }
  /** Copies what stands at the log's path to `to`, then empties the log. */
  | { readonly op: 'set_aside'; readonly to: string }
  | { readonly op: 'close' }

/** `bytes`: the length of the line. */
export type LogReply =
  | { readonly op: 'append'; readonly result: AppendResult; readonly bytes: number }
  | { readonly op: 'done' }
  | { readonly op: 'failed'; readonly reason: string }
