import type { Failure } from '../../core/failure'
import type { Result } from '../../core/result'
import type { ModelRequest } from './wires/model-request'
import type { ModelWire, WirePath } from './wires/model-wire'

/** Bodies up to this size are parsed on the serving thread. Longer ones go to a worker, since parsing them would block all calls. */
export const SHORT_BODY_BYTES = 1024 * 1024

/** A body as received, and what was measured while it arrived. */
export interface ReceivedBody {
  readonly chunks: readonly Uint8Array<ArrayBuffer>[]
  /** The number of its objects, arrays and members, which is within the bounds; null if the body was not scanned to its end. */
  readonly parts: number | null
}

/** A parsed body: what the gateway must know of it, and its digest, if the worker computed one. */
export interface ReadModelBody {
  readonly request: ModelRequest
  /** As computed by `digestOf`. */
  readonly digest: string | null
}

/** Reads the bodies of model calls, short ones at once. */
export interface BodyReader {
  /** Takes ownership of the chunks. The bytes are in the returned request. */
  read(
    wire: ModelWire,
    body: ReceivedBody,
    path: WirePath,
  ): Result<ReadModelBody, Failure> | Promise<Result<ReadModelBody, Failure>>
}
