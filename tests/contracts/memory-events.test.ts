import {
  MAX_KEPT,
  MAX_PER_ACCOUNT,
  MAX_UNWATCHED,
  MAX_WAITING,
  MemoryEvents,
} from '../../server/adapters/stores/memory/events'
import { liveEventsContract } from './live-events.contract'

liveEventsContract('memory', () => new MemoryEvents(), {
  watchers: MAX_PER_ACCOUNT,
  waiting: MAX_WAITING,
  kept: MAX_KEPT,
  unwatched: MAX_UNWATCHED,
})
