import type { Failure } from '../../core/failure'
import type { ModelRoute } from '../../core/models/model'
import type { Result } from '../../core/result'
import type { ModelRequest } from '../../pipeline/models/wires/model-request'
import type { WirePath } from '../../pipeline/models/wires/model-wire'

/** A long body on its way to the thread, which joins its chunks; their memory goes along. */
export interface ToBodyThread {
  readonly route: ModelRoute
  readonly path: WirePath
  readonly chunks: readonly Uint8Array<ArrayBuffer>[]
}

/** What the thread found, and the memory back, which of a refused body nobody needs. Never the parsed body: it would be copied. */
export type FromBodyThread = Result<
  { readonly facts: Omit<ModelRequest, 'bytes'>; readonly digest: string; readonly buffer: ArrayBuffer },
  Failure
>
