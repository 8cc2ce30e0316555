import type { DatabaseError } from '../driver/worker/worker-connection'
import type { Group } from './group-statements'

/** `lost`: this process can no longer find out whether the group was written. An error: it certainly was not. */
export type WriteEnd = 'committed' | 'lost' | DatabaseError

/** Makes groups durable, one at a time. Never rejects. */
export interface GroupSink {
  /** `json`: each record as JSON, in the same order. */
  write(group: Group, json: readonly string[]): Promise<WriteEnd>
}
