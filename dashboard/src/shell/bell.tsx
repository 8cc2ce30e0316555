import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Bell as BellIcon } from 'lucide-react'
import { unreadQuery } from '../api/notices.ts'
import { NOTICE_TEXT as TEXT } from '../messages/notices.ts'

const MAX_SHOWN = 99

/** Leads to the notices and counts the unread ones. */
export function Bell() {
  const unread = countText(useQuery(unreadQuery).data?.unread ?? 0)
  return (
    <Link
      to="/notices"
      aria-label={TEXT.bell(unread)}
      title={TEXT.bell(unread)}
      className="control inline-flex items-center gap-1 px-2 text-muted no-underline hover:bg-sunken hover:text-text"
    >
      <BellIcon size={16} aria-hidden />
      {unread !== '' && (
        <span aria-hidden className="rounded-full bg-accent-soft px-1.5 text-xs font-medium text-accent">
          {unread}
        </span>
      )}
    </Link>
  )
}

/** The name of the link has the same text, so that people find it who speak what they see. */
function countText(unread: number): string {
  if (unread === 0) return ''
  return unread > MAX_SHOWN ? `${MAX_SHOWN}+` : String(unread)
}
