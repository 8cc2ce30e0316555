import { mayDo, onlyOf } from '../../core/accounts/roles'
import type { LiveEvent } from '../../core/events/live-event'
import type { LiveEvents, Watcher } from '../../core/events/live-events'
import { failure } from '../../core/failure'
import type { Ledger } from '../../core/ledger/ledger'
import { tierOf } from '../../core/limits/tier'
import type { Owner, OwnerSessions } from '../middleware/caller/owner-session'
import { type SeenCalls, seenKeys } from '../middleware/caller/seen-calls'
import { type RequestContext, routeGroup } from '../middleware/request-context'
import { Failed } from '../middleware/response/failures'
import { UNDOCUMENTED } from '../openapi/documented'
import { allowed, signedIn } from '../routing/api-access'
import { wireCall } from './usage-report'

/** Shorter than the idle timeouts of servers and proxies on the way (30 s or more). */
const PING_MS = 15_000
/** Events within this time are sent together. */
const BATCH_MS = 100

const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  // Otherwise nginx buffers the events.
  'x-accel-buffering': 'no',
}

interface EventParts extends SeenCalls {
  readonly owners: OwnerSessions
  readonly events: LiveEvents
  readonly ledger: Ledger
  readonly pingMs?: number
}

/**
 * Live events of the owner's account for the dashboard, as server-sent events: `call`, `key`, `balance`, `tier`, `social`, `topup`,
 * `missed` and `ping`. The stream ends with the session, immediately on sign-out. `?after=` takes the `events_mark` of the account, or
 * the id of the last event: what happened since is sent first, or `missed` if that is no longer known.
 */
export function eventRoutes(parts: EventParts) {
  const { owners, events } = parts
  return routeGroup({ name: 'events', prefix: '/api' }).get(
    '/events',
    ...allowed(signedIn(owners, 'member'), UNDOCUMENTED, ({ owner, accountId, context }) => {
      // A HEAD runs this too, and Elysia would read the stream to its end for the length.
      if (context.request.method === 'HEAD') return new Response(null, { headers: HEADERS })
      const watcher = events.watch(accountId, context.url.searchParams.get('after') ?? undefined)
      if (!watcher)
        throw new Failed(
          failure(
            'rate_limit_exceeded',
            'Too many dashboard pages of this account are open. Close some to get live updates.',
            {
              retryAfterSeconds: 30,
            },
          ),
        )
      context.request.signal.addEventListener('abort', () => watcher.close(), { once: true })
      return new Response(eventStream(parts, context, owner, watcher), { headers: HEADERS })
    }),
  )
}

function eventStream(
  parts: EventParts,
  context: RequestContext,
  owner: Owner,
  watcher: Watcher,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const mayGoOn = sessionCheck(parts, context, owner)
  const shows = eventFilter(parts, owner)
  return new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(encoder.encode(`retry: 1000\nid: ${watcher.mark}\n${PING}`)),
    async pull(controller) {
      // If the database is not responding, the stream ends and the browser reconnects.
      const text = await nextText(parts, context, owner, watcher, mayGoOn, shows).catch(() => null)
      if (text !== null) return controller.enqueue(encoder.encode(text))
      watcher.close()
      controller.close()
    },
    cancel: () => watcher.close(),
  })
}

/** The next events as text, or null when the stream ends. */
async function nextText(
  parts: EventParts,
  context: RequestContext,
  owner: Owner,
  watcher: Watcher,
  mayGoOn: (events: readonly LiveEvent[]) => Promise<boolean>,
  shows: (event: LiveEvent) => Promise<boolean>,
): Promise<string | null> {
  for (;;) {
    const first = await watcher.take(parts.pingMs ?? PING_MS)
    if (!first) return null
    if (first.length > 0) await Bun.sleep(BATCH_MS)
    const more = first.length > 0 ? await watcher.take(0) : []
    if (!more) return null
    const events = [...first, ...more]
    const { mark } = watcher
    if (!(await mayGoOn(events))) return null
    if (events.length === 0) return PING
    const texts = await Promise.all(
      events.map(async (event) => ((await shows(event)) ? eventText(parts, context, owner, event) : '')),
    )
    const text = texts.join('')
    if (text !== '') return `id: ${mark}\n${text}`
  }
}

/**
 * Whether the member may get more events, with the role of the stream's start. Looks when a session ended, before each ping, and as often while there is no pause for a ping: a
 * session also expires.
 */
function sessionCheck({ owners, pingMs = PING_MS }: EventParts, context: RequestContext, { accountId, member }: Owner) {
  let checkedAt = performance.now()
  return async (events: readonly LiveEvent[]): Promise<boolean> => {
    const now = performance.now()
    const isDue = events.length === 0 || now - checkedAt >= pingMs || events.some(({ type }) => type === 'session')
    if (!isDue) return true
    checkedAt = now
    return owners.isStill(context, accountId, member.role)
  }
}

/** What concerns the role, and of calls those of the keys that the member sees, which a key that is made changes. */
function eventFilter(parts: EventParts, owner: Owner): (event: LiveEvent) => Promise<boolean> {
  if (onlyOf(owner.member) === null)
    return async ({ type }) => type !== 'topup' || mayDo(owner.member.role, 'money:read')
  let seen = seenKeys(parts, owner)
  return async (event) => {
    if (event.type === 'key') seen = seenKeys(parts, owner)
    const id = event.type === 'call' ? event.call.keyId : event.type === 'key' ? event.id : null
    return id === null
      ? event.type !== 'topup' && event.type !== 'social'
      : (await seen)?.some((one) => one === id) === true
  }
}

const PING = 'event: ping\ndata: {}\n\n'

async function eventText(
  { owners, ledger }: EventParts,
  context: RequestContext,
  { accountId }: Owner,
  event: LiveEvent,
): Promise<string> {
  switch (event.type) {
    case 'call':
      return eventOf('call', wireCall(event.call))
    case 'key':
      return eventOf('key', { id: event.id })
    case 'balance': {
      // Read when it is sent, so that an older balance never follows a newer one.
      const balance = await ledger.balance(accountId)
      return eventOf('balance', { balance_micros_usd: balance?.posted ?? 0, held_micros_usd: balance?.held ?? 0 })
    }
    case 'tier':
      return eventOf('tier', { tier: tierOf((await owners.owner(context)).tier) })
    case 'social':
      return eventOf('social', { key_id: event.keyId })
    case 'topup':
      return eventOf('topup', { id: event.id })
    case 'missed':
      return eventOf('missed', {})
    case 'session':
      return ''
  }
}

function eventOf(name: Exclude<LiveEvent['type'], 'session'>, data: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`
}
