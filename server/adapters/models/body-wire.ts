import type { Failure } from '../../core/failure'
import type { ModelRoute } from '../../core/models/model'
import type { Result } from '../../core/result'
import type { ModelRequest } from '../../pipeline/models/wires/model-request'
import type { WirePath } from '../../pipeline/models/wires/model-wire'

/** A long body for the thread, which joins its chunks. Their memory is transferred. */
export interface ToBodyThread {
  readonly route: ModelRoute
  readonly path: WirePath
  readonly chunks: readonly Uint8Array<ArrayBuffer>[]
}

/** The thread's result, and the body's memory unless it was refused. Never the parsed body, because it would be copied. */
export type FromBodyThread = Result<
  { readonly facts: Omit<ModelRequest, 'bytes'>; readonly digest: string; readonly buffer: ArrayBuffer },
  Failure
>
