import type { Failure } from '../../core/failure'
import type { Result } from '../../core/result'
import type { ModelRequest } from './wires/model-request'
import type { ModelWire, WirePath } from './wires/model-wire'

/** Bodies up to here are read where they arrive; longer ones elsewhere, or they would keep everybody waiting. */
export const SHORT_BODY_BYTES = 1024 * 1024

/** A body that was read: what must be known of it, and its digest, where that was made beside. */
export interface ReadModelBody {
  readonly request: ModelRequest
  /** As `digestOf` makes it. */
  readonly digest: string | null
}

/** Reads the bodies of model calls. */
export interface BodyReader {
  /** The chunks of a body belong to the reader from here on; the request has its bytes. */
  read(
    wire: ModelWire,
    chunks: readonly Uint8Array<ArrayBuffer>[],
    path: WirePath,
  ): Promise<Result<ReadModelBody, Failure>>
}
