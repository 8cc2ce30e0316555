import { MemoryEvents, MOST_PER_ACCOUNT, MOST_WAITING } from '../../server/adapters/stores/memory/events'
import { liveEventsContract } from './live-events.contract'

liveEventsContract('memory', () => new MemoryEvents(), { watchers: MOST_PER_ACCOUNT, waiting: MOST_WAITING })
