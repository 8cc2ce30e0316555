import type { WorkerReply, WorkerRequest } from '../worker-wire'

/** A message as it passes between threads: as text, or as it is where text cannot hold a value of it. */
export type Packed<M> = string | M

/** Text takes half of the processor time of an object with objects in it. Of the requests, batches are most. */
export function packedRequest(request: WorkerRequest): Packed<WorkerRequest> {
  if (request.op !== 'batch') return request
  const isText = request.statements.every(
    (statement) => typeof statement === 'string' || (Array.isArray(statement.args) && statement.args.every(isExact)),
  )
  return isText ? JSON.stringify(request) : request
}

export function packedReply(reply: WorkerReply): Packed<WorkerReply> {
  if (!('results' in reply)) return reply
  return reply.results.every(({ rows }) => rows.every((row) => row.every(isExact))) ? JSON.stringify(reply) : reply
}

export function unpacked<M extends object>(data: Packed<M>): M {
  return typeof data === 'string' ? (JSON.parse(data) as M) : data // from `packedRequest` or `packedReply`
}

/** Whether JSON gives this value back as it was: no bytes, no large integer, no `-0` or infinity. */
function isExact(value: unknown): boolean {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0)
    default:
      return value === null
  }
}
