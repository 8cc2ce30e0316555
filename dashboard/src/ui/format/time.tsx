import { useSyncExternalStore } from 'react'
import { UI_TEXT } from '../../messages/ui.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const TICK_MS = 15_000

/** Made once: to make one takes a hundred times as long as to format with it, and tables show hundreds of times. */
const DATE_TIME = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'long' })
const DATE = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })
const SHORT_DATE = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })
const FIELD_DATE = new Intl.DateTimeFormat('sv-SE')
const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const SECONDS = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })

/** "Just now", "4 min ago", "3 h ago", then the date. The exact time with its zone is in the title. */
export function TimeAgo({ at, never = UI_TEXT.never }: { at: string | null; never?: string }) {
  const now = useNow()
  if (at === null) return <span className="text-muted">{never}</span>
  return (
    <time dateTime={at} title={formatDateTime(at)} className="whitespace-nowrap">
      {formatAgo(now - Date.parse(at), at)}
    </time>
  )
}

/** The time to the second in the viewer's time zone, with the day unless it is today. In UTC on hover. */
export function ExactTime({ at }: { at: string }) {
  const isToday = formatDay(at) === formatDay(useNow())
  return (
    <time dateTime={at} title={formatUtc(at)} className="whitespace-nowrap">
      {isToday ? formatSeconds(at) : `${formatShortDay(at)}, ${formatSeconds(at)}`}
    </time>
  )
}

/** The whole time with its zone. In UTC on hover. */
export function FullTime({ at }: { at: string }) {
  return (
    <time dateTime={at} title={formatUtc(at)}>
      {formatDateTime(at)}
    </time>
  )
}

/** A time in the future, such as "in 22 h". */
export function formatUntil(at: string, now: number): string {
  const left = Date.parse(at) - now
  if (left < MINUTE) return UI_TEXT.soon
  if (left < HOUR) return UI_TEXT.inMinutes(Math.floor(left / MINUTE))
  if (left < 2 * DAY) return UI_TEXT.inHours(Math.floor(left / HOUR))
  return UI_TEXT.inDays(Math.floor(left / DAY))
}

export function formatDateTime(at: string | number): string {
  return DATE_TIME.format(new Date(at))
}

export function formatDay(at: string | number): string {
  return DATE.format(new Date(at))
}

/** The day of a time in the viewer's time zone, as date fields have it. */
export function localDay(at: string | number): string {
  return FIELD_DATE.format(new Date(at))
}

export function formatClock(at: string | number): string {
  return CLOCK.format(new Date(at))
}

function formatSeconds(at: string): string {
  return SECONDS.format(new Date(at))
}

function formatShortDay(at: string): string {
  return SHORT_DATE.format(new Date(at))
}

/** "2026-11-21 08:56:28.490 UTC" */
function formatUtc(at: string): string {
  return `${new Date(at).toISOString().replace('T', ' ').replace('Z', '')} UTC`
}

function formatAgo(age: number, at: string): string {
  if (age < MINUTE) return UI_TEXT.justNow
  if (age < HOUR) return UI_TEXT.minutesAgo(Math.floor(age / MINUTE))
  if (age < DAY) return UI_TEXT.hoursAgo(Math.floor(age / HOUR))
  return formatDay(at)
}

/** The current time, updated while the page is open. All users share one timer. */
export function useNow(): number {
  return useSyncExternalStore(follow, () => moment)
}

let moment = Date.now()
let timer: ReturnType<typeof setInterval> | undefined
const followers = new Set<() => void>()

function follow(tell: () => void): () => void {
  followers.add(tell)
  if (timer === undefined) moment = Date.now()
  timer ??= setInterval(() => {
    moment = Date.now()
    for (const follower of followers) follower()
  }, TICK_MS)
  return () => {
    followers.delete(tell)
    if (followers.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}
