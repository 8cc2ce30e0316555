import { MemoryHolds } from '../../server/adapters/stores/memory/holds'
import { holdStoreContract } from './hold-store.contract'

holdStoreContract('memory', () => new MemoryHolds())
