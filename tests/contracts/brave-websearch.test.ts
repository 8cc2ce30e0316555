import { trustedFetch } from '../../server/adapters/outbound/one-hop'
import { openBraveWebsearch } from '../../server/adapters/websearch/brave/open-brave-websearch'
import { braveServer } from '../support/doubles/brave-server'
import { WORLD_NOW } from '../support/doubles/search-world'
import { websearchContract } from './websearch.contract'

const KEY = 'BSA-contract'

websearchContract(
  'brave',
  async () => {
    const server = braveServer(KEY)
    const access = { baseUrl: server.url, apiKey: KEY }
    const plug = openBraveWebsearch({ ...access, fetch: trustedFetch, clock: { now: () => WORLD_NOW } })
    return { ...plug, close: () => server.stop() }
  },
  { silentCorrection: true },
)
