import type { LiveEvent } from '../../core/events/live-event'
import type { LiveEvents, Watcher } from '../../core/events/live-events'
import { failure } from '../../core/failure'
import type { AccountId } from '../../core/ids'
import type { Ledger } from '../../core/ledger/ledger'
import { tierOf } from '../../core/limits/tier'
import { Failed } from '../middleware/failures'
import type { OwnerSessions } from '../middleware/owner-session'
import { type RequestContext, routeGroup } from '../middleware/request-context'
import { UNDOCUMENTED } from '../openapi/documented'
import { wireCall } from './usage-report'

/** Below the shortest time after which a server or a proxy on the way ends a silent connection (30 s). */
const PING_MS = 15_000
/** What happens within so long goes out together. */
const GATHER_MS = 100

interface EventParts {
  readonly owners: OwnerSessions
  readonly events: LiveEvents
  readonly ledger: Ledger
  readonly pingMs?: number
}

/**
 * What happens on the owner's account, as server-sent events, for the dashboard: `call`, `key`, `balance`, `tier`, `social`,
 * `topup`, `missed` and `ping`. It ends when the session does, at once when it was ended on purpose. No replay: who comes back
 * reads everything again.
 */
export function eventRoutes(parts: EventParts) {
  const { owners, events } = parts
  return routeGroup({ name: 'events', prefix: '/api' }).get(
    '/events',
    async ({ context }) => {
      const { accountId } = await owners.owner(context)
      const watcher = events.watch(accountId)
      if (!watcher)
        throw new Failed(
          failure('rate_limit_exceeded', 'Too many pages are open for live updates of this account. Close some.', {
            retryAfterSeconds: 30,
          }),
        )
      context.request.signal.addEventListener('abort', () => watcher.close(), { once: true })
      return new Response(eventStream(parts, context, accountId, watcher), {
        headers: {
          'content-type': 'text/event-stream',
          'cache-control': 'no-store',
          // Or nginx keeps events until its buffer is full.
          'x-accel-buffering': 'no',
        },
      })
    },
    UNDOCUMENTED,
  )
}

function eventStream(
  parts: EventParts,
  context: RequestContext,
  accountId: AccountId,
  watcher: Watcher,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(encoder.encode(`retry: 1000\n${PING}`)),
    async pull(controller) {
      // When the database cannot answer, the stream ends, and the browser comes back by itself.
      const text = await nextText(parts, context, accountId, watcher).catch(() => null)
      if (text !== null) return controller.enqueue(encoder.encode(text))
      watcher.close()
      controller.close()
    },
    cancel: () => watcher.close(),
  })
}

/** The next events as text, or null when the stream is over. */
async function nextText(
  parts: EventParts,
  context: RequestContext,
  accountId: AccountId,
  watcher: Watcher,
): Promise<string | null> {
  for (;;) {
    const first = await watcher.take(parts.pingMs ?? PING_MS)
    if (!first) return null
    if (first.length > 0) await Bun.sleep(GATHER_MS)
    const more = first.length > 0 ? await watcher.take(0) : []
    if (!more) return null
    const happened = [...first, ...more]
    const askSession = happened.length === 0 || happened.some((event) => event.type === 'session')
    if (askSession && !(await parts.owners.isSignedIn(context))) return null
    if (happened.length === 0) return PING
    const texts = await Promise.all(happened.map((event) => eventText(parts, context, accountId, event)))
    const text = texts.join('')
    if (text !== '') return text
  }
}

const PING = 'event: ping\ndata: {}\n\n'

async function eventText(
  { owners, ledger }: EventParts,
  context: RequestContext,
  accountId: AccountId,
  event: LiveEvent,
): Promise<string> {
  switch (event.type) {
    case 'call':
      return said('call', wireCall(event.call))
    case 'key':
      return said('key', { id: event.id })
    case 'balance': {
      // Read now and not when it happened, so that a later figure never goes out before an earlier one.
      const balance = await ledger.balance(accountId)
      return said('balance', { balance_micros_usd: balance?.posted ?? 0, held_micros_usd: balance?.held ?? 0 })
    }
    case 'tier':
      return said('tier', { tier: tierOf((await owners.owner(context)).tier) })
    case 'social':
      return said('social', { key_id: event.keyId })
    case 'topup':
      return said('topup', { id: event.id })
    case 'missed':
      return said('missed', {})
    case 'session':
      return ''
  }
}

function said(name: Exclude<LiveEvent['type'], 'session'>, data: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`
}
