import { useSyncExternalStore } from 'react'
import { KIT_WORDS } from '../words/kit.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const TICK_MS = 15_000

/** "Just now", "4 min ago", "3 h ago", then the date. The exact time with its zone is in the title. */
export function TimeAgo({ at, never = KIT_WORDS.never }: { at: string | null; never?: string }) {
  const now = useNow()
  if (at === null) return <span className="text-muted">{never}</span>
  return (
    <time dateTime={at} title={exactTime(at)} className="whitespace-nowrap">
      {agoWords(now - Date.parse(at), at)}
    </time>
  )
}

/** A moment to come: "in 22 h". */
export function untilWords(at: string, now: number): string {
  const left = Date.parse(at) - now
  if (left < MINUTE) return KIT_WORDS.soon
  if (left < HOUR) return KIT_WORDS.inMinutes(Math.floor(left / MINUTE))
  if (left < 2 * DAY) return KIT_WORDS.inHours(Math.floor(left / HOUR))
  return KIT_WORDS.inDays(Math.floor(left / DAY))
}

export function exactTime(at: string | number): string {
  return new Date(at).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'long' })
}

export function dayWords(at: string | number): string {
  return new Date(at).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })
}

export function clockWords(at: string | number): string {
  return new Date(at).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })
}

function agoWords(age: number, at: string): string {
  if (age < MINUTE) return KIT_WORDS.justNow
  if (age < HOUR) return KIT_WORDS.minutesAgo(Math.floor(age / MINUTE))
  if (age < DAY) return KIT_WORDS.hoursAgo(Math.floor(age / HOUR))
  return dayWords(at)
}

/** The time, which moves while the page is open. One timer serves every use of it. */
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
