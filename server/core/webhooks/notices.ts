import type { AccountId, KeyId } from '../ids'
import type { GatewayEvent } from './event'

/** An event as its owner reads it in the dashboard. */
export interface Notice extends GatewayEvent {
  readonly isRead: boolean
}

/** The events of an account, as its notices. Operators also see what concerns the whole gateway. */
export interface NoticeStore {
  /** Newest first. Null for an unknown cursor. */
  notices(reader: NoticeReader, limit: number, after: string | null): Promise<readonly Notice[] | null>
  unread(reader: NoticeReader): Promise<number>
  /** Marks this notice and all older ones as read; all, without an id. False for an unknown id. */
  markRead(reader: NoticeReader, through: string | null): Promise<boolean>
}

export interface NoticeReader {
  readonly id: AccountId
  readonly operator: boolean
  /** The kinds that concern the reader's role, and the keys that the reader sees; absent for all. */
  readonly types?: readonly string[]
  readonly keyIds?: readonly KeyId[] | null
}
