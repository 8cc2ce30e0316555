import { type Failure, failure } from '../../core/failure'
import { BODY_BOUNDS, beyondBounds, isWithin } from '../../core/json-bounds'
import { digestOf } from '../../core/payments/binding'
import { err, ok, type Result } from '../../core/result'
import type { ModelRequest } from '../../pipeline/models/wires/model-request'
import type { ModelWire } from '../../pipeline/models/wires/model-wire'
import { WIRES } from '../../pipeline/models/wires/wires'
import type { FromBodyThread, ToBodyThread } from './body-wire'

/** The thread that parses long bodies of model calls, one at a time. */
declare const self: Worker

self.onmessage = ({ data: { route, path, chunks } }: MessageEvent<ToBodyThread>) => {
  const bytes = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0))
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.byteLength
  }
  const read = factsOf(WIRES[route], bytes, path)
  const answer: FromBodyThread = read.ok
    ? ok({ ...read.value, digest: digestOf(new Uint8Array(read.value.buffer)) })
    : read
  const { chat, withoutOffTools } = read.ok ? read.value.facts : {}
  const others = [chat?.body.buffer, withoutOffTools?.bytes.buffer].filter((one) => one !== undefined)
  self.postMessage(answer, answer.ok ? [answer.value.buffer, ...others] : [])
}

function factsOf(
  wire: ModelWire,
  bytes: Uint8Array<ArrayBuffer>,
  path: ToBodyThread['path'],
): Result<{ readonly facts: Omit<ModelRequest, 'bytes'>; readonly buffer: ArrayBuffer }, Failure> {
  if (!wire.isForm && !isWithin(bytes, BODY_BOUNDS)) return err(failure('invalid_request', beyondBounds(BODY_BOUNDS)))
  const read = wire.read(bytes, path)
  if (!read.ok) return read
  // A form is written anew.
  const { bytes: sent, uncovered, ...facts } = read.value
  // One of each kind is enough for a refusal, and a hundred thousand would be copied.
  return ok({ facts: { ...facts, uncovered: [...new Set(uncovered)] }, buffer: sent.buffer })
}
