import robotsParser from 'robots-parser'
import { type Clock, HOUR_MS } from '../../../core/clock'
import type { OutboundFetch } from '../../../core/outbound/outbound-fetch'

/** Which URLs of a site may be fetched, according to its `robots.txt`. */
type Rules = (url: string) => boolean

const TIMEOUT_MS = 1_500
/** RFC 9309 2.5: at least 500 KiB are read. */
const MAX_BYTES = 512 * 1024
const MAX_REDIRECTS = 5
const FRESH_MS = HOUR_MS
/** A file is half a megabyte at most; hardly one is more than a few kilobytes. */
const MAX_SITES = 200

const ALL: Rules = () => true
const NOTHING: Rules = () => false

/** The `robots.txt` of sites, each read once an hour (RFC 9309). `agent` is the name that sites address us by. */
export class RobotsRules {
  private readonly fetch: OutboundFetch
  private readonly clock: Clock
  private readonly agent: string
  /** Least recently used first. */
  private readonly sites = new Map<string, { readonly rules: Promise<Rules>; readonly at: number }>()

  constructor(fetch: OutboundFetch, clock: Clock, agent: string) {
    this.fetch = fetch
    this.clock = clock
    this.agent = agent
  }

  async mayVisit(url: URL): Promise<boolean> {
    const { origin } = url
    const cached = this.sites.get(origin)
    const isFresh = cached && this.clock.now() - cached.at < FRESH_MS
    const site = isFresh ? cached : { rules: this.read(origin), at: this.clock.now() }
    this.sites.delete(origin)
    this.sites.set(origin, site)
    for (const oldest of this.sites.keys()) {
      if (this.sites.size <= MAX_SITES) break
      this.sites.delete(oldest)
    }
    return (await site.rules)(url.href)
  }

  /** No file, or none for us, allows all; a server that fails, or cannot be reached, allows nothing (RFC 9309 2.3.1). */
  private async read(origin: string): Promise<Rules> {
    const url = `${origin}/robots.txt`
    const fetched = await this.fetch({
      url,
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
      maxRedirects: MAX_REDIRECTS,
    })
    if (!fetched.ok) return NOTHING
    const { status, body } = fetched.value
    if (status === 429 || status >= 500) return NOTHING
    if (status !== 200) return ALL
    const robots = robotsParser(url, new TextDecoder().decode(body))
    return (address) => robots.isAllowed(address, this.agent) ?? true
  }
}
