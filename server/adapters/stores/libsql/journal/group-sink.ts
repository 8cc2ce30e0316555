import type { DatabaseError } from '../driver/worker-connection'
import type { Group } from './group-statements'

/** `lost`: nobody here can know any more whether the group is written. An error: it surely was not. */
export type WriteEnd = 'committed' | 'lost' | DatabaseError

/** Where a group becomes durable. One at a time; never rejects. */
export interface GroupSink {
  write(group: Group): Promise<WriteEnd>
}
