import { MemoryWindows } from '../../server/adapters/stores/memory/windows'
import { windowStoreContract } from './window-store.contract'

windowStoreContract('memory', () => new MemoryWindows())
