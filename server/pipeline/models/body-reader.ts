import type { Failure } from '../../core/failure'
import type { Result } from '../../core/result'
import type { ModelRequest } from './wires/model-request'
import type { ModelWire, WirePath } from './wires/model-wire'

/** Bodies up to here are read where they arrive; longer ones elsewhere, or they would keep everybody waiting. */
export const SHORT_BODY_BYTES = 1024 * 1024

/** A body as it came in, and what was seen of it on its way. */
export interface ArrivedBody {
  readonly chunks: readonly Uint8Array<ArrayBuffer>[]
  /** Its objects, arrays and members, which keep to the bounds; null when not all of it was looked at. */
  readonly parts: number | null
}

/** A body that was read: what must be known of it, and its digest, where that was made beside. */
export interface ReadModelBody {
  readonly request: ModelRequest
  /** As `digestOf` makes it. */
  readonly digest: string | null
}

/** Reads the bodies of model calls. */
export interface BodyReader {
  /** The chunks of a body belong to the reader from here on; the request has its bytes. */
  read(wire: ModelWire, body: ArrivedBody, path: WirePath): Promise<Result<ReadModelBody, Failure>>
}
