import { MAX_PER_ACCOUNT, MAX_WAITING, MemoryEvents } from '../../server/adapters/stores/memory/events'
import { liveEventsContract } from './live-events.contract'

liveEventsContract('memory', () => new MemoryEvents(), { watchers: MAX_PER_ACCOUNT, waiting: MAX_WAITING })
