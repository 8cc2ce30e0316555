import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type { NoticeMailSettings, NoticePage } from '../../../server/http/webhooks/record.ts'
import { api, unwrap } from './client/client.ts'

export type NoticeMails = NoticeMailSettings
export type Notice = NoticePage['notices'][number]

const UNREAD_EVERY_MS = 30_000

/** How many notices are unread, for the bell. */
export const unreadQuery = queryOptions({
  queryKey: ['notices', 'unread'],
  queryFn: () => unwrap(api.notices.get({ query: { limit: 1 } })),
  refetchInterval: UNREAD_EVERY_MS,
})

export const noticesQuery = infiniteQueryOptions({
  queryKey: ['notices', 'all'],
  queryFn: ({ pageParam }) => unwrap(api.notices.get({ query: pageParam === null ? {} : { cursor: pageParam } })),
  initialPageParam: null as string | null,
  getNextPageParam: (page) => page.next_cursor,
  refetchInterval: UNREAD_EVERY_MS,
})

export const markNoticesRead = () => unwrap(api.notices.read.post({}))

/** Which notices are mailed. */
export const noticeMailQuery = queryOptions({
  queryKey: ['notice-mails'],
  queryFn: () => unwrap(api.notices.mail.get()),
})

export const changeNoticeMails = (change: Omit<NoticeMails, 'sends_mail'>) => unwrap(api.notices.mail.patch(change))
