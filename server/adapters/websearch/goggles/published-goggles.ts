import { type Clock, MINUTE_MS } from '../../../core/clock'
import { hostedGoggleLines, MAX_GOGGLE_BYTES } from '../../../core/goggles/goggle'
import { goggleEntry, isGoggleAddress } from '../../../core/goggles/goggle-entry'
import type { OutboundFetch } from '../../../core/outbound/outbound-fetch'
import type { UpstreamFailure } from '../../../core/providers/provider'
import { err, ok, type Result } from '../../../core/result'
import { CallerAllowance } from './caller-allowance'
import type { GoggleText } from './rule-books'

const TIMEOUT_MS = 4_000
const MAX_REDIRECTS = 3
const TYPES = ['text/plain', 'text/markdown', 'application/octet-stream']
/** How long a text is cached before it is fetched again. */
const FRESH_MS = 15 * MINUTE_MS
const MAX_CACHED_BYTES = 16_000_000
/** How much of uncached goggles is read per caller and minute: ten of maximum length. */
const MAX_NEW_BYTES = 10 * MAX_GOGGLE_BYTES
/** Lines that are checked before the thread yields to other work: a few milliseconds. */
const LINES_AT_ONCE = 1000

interface CachedGoggle {
  readonly text: string
  readonly at: number
}

/** Resolves the `goggles` of a call to texts: inline ones from the request, and hosted ones by URL. */
export class PublishedGoggles {
  private readonly fetch: OutboundFetch
  private readonly clock: Clock
  private readonly allowance: CallerAllowance
  /** Least recently used first. */
  private readonly cache = new Map<string, CachedGoggle>()
  private readonly underWay = new Map<string, Promise<Result<string, UpstreamFailure>>>()
  private bytes = 0

  constructor(fetch: OutboundFetch, clock: Clock) {
    this.fetch = fetch
    this.clock = clock
    this.allowance = new CallerAllowance(MAX_NEW_BYTES, clock)
  }

  /**
   * The text of every entry, in order. An error in a hosted goggle is `invalid_input` and names the entry and the line. A host that does
   * not answer is `unavailable`. More new goggles than the caller's allowance is `refused`.
   */
  async texts(
    entries: readonly string[],
    caller: string,
    signal: AbortSignal,
  ): Promise<Result<readonly GoggleText[], UpstreamFailure>> {
    const read = await Promise.all(entries.map((entry, i) => this.text(entry, i + 1, caller, signal)))
    const texts: GoggleText[] = []
    for (const one of read) {
      if (!one.ok) return one
      texts.push(one.value)
    }
    return ok(texts)
  }

  private async text(
    text: string,
    number: number,
    caller: string,
    signal: AbortSignal,
  ): Promise<Result<GoggleText, UpstreamFailure>> {
    const entry = goggleEntry(text)
    if (typeof entry === 'string') return wrong(`entry ${number} ${entry}`)
    if (entry.kind === 'inline') return ok({ text: entry.text, isHosted: false })
    const read = await this.published(entry.url, caller, signal)
    if (read.ok) return ok({ text: read.value, isHosted: true })
    if (read.error.kind !== 'invalid_input') return read
    return wrong(`entry ${number}: ${read.error.input?.rule ?? read.error.reason}`)
  }

  /** Callers of one URL share a fetch. A caller that aborts stops waiting, and the fetch continues for the others. */
  private async published(url: URL, caller: string, signal: AbortSignal): Promise<Result<string, UpstreamFailure>> {
    const address = rawAddress(url).href
    const cached = this.fresh(address)
    if (cached !== null) return ok(cached)
    const sharing = this.underWay.get(address) ?? this.start(address, caller)
    const gaveUp = Promise.withResolvers<Result<string, UpstreamFailure>>()
    const giveUp = () =>
      gaveUp.resolve(err({ kind: 'timeout', reason: 'the call ended before its goggle was fetched' }))
    signal.addEventListener('abort', giveUp, { once: true })
    if (signal.aborted) giveUp()
    const read = await Promise.race([sharing, gaveUp.promise])
    signal.removeEventListener('abort', giveUp)
    return read
  }

  private start(address: string, caller: string): Promise<Result<string, UpstreamFailure>> {
    const reading = this.read(new URL(address), caller, true).then((read) => {
      this.underWay.delete(address)
      if (read.ok) this.keep(address, read.value)
      return read
    })
    this.underWay.set(address, reading)
    return reading
  }

  private async read(url: URL, caller: string, mayMove: boolean): Promise<Result<string, UpstreamFailure>> {
    // Its length is unknown until it arrives; until then it counts as the maximum.
    if (!this.allowance.take(caller, MAX_GOGGLE_BYTES)) return err(this.allowance.refusal())
    const fetched = await this.fetch({
      url: url.href,
      headers: { accept: 'text/plain' },
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_GOGGLE_BYTES,
      maxRedirects: MAX_REDIRECTS,
      contentTypes: TYPES,
      mayVisit: isGoggleAddress,
    })
    const read = fetched.ok ? fetched.value.body.length : fetched.error.kind === 'too_large' ? MAX_GOGGLE_BYTES : 0
    this.allowance.giveBack(caller, Math.max(0, MAX_GOGGLE_BYTES - read))
    if (!fetched.ok) {
      const { kind, reason } = fetched.error
      if (kind === 'timeout' || kind === 'unreachable' || kind === 'cut')
        return err({ kind: 'unavailable', reason: `goggle: ${reason}` })
      return wrong(UNREADABLE[kind] ?? 'the address does not give a goggle')
    }
    const { status, body } = fetched.value
    if (status >= 500 || status === 429)
      return err({ kind: 'unavailable', reason: `goggle: ${url.host} returned ${status}` })
    if (status !== 200) return wrong(`the address answers ${status}`)
    const text = new TextDecoder().decode(body)
    const parsed = await validateLines(text)
    if (!parsed.ok) return wrong(`line ${parsed.error.line}: ${parsed.error.rule}`)
    const moved = parsed.value.get('transferred_to')
    if (moved === undefined) return ok(text)
    const next = goggleEntry(moved)
    if (!mayMove || typeof next === 'string' || next.kind !== 'hosted')
      return wrong('"transferred_to" must be an address of another goggle that did not move again')
    return this.read(rawAddress(next.url), caller, false)
  }

  private fresh(address: string): string | null {
    const cached = this.cache.get(address)
    if (!cached) return null
    this.cache.delete(address)
    if (this.clock.now() - cached.at >= FRESH_MS) {
      this.bytes -= cached.text.length
      return null
    }
    this.cache.set(address, cached)
    return cached.text
  }

  private keep(address: string, text: string): void {
    this.cache.set(address, { text, at: this.clock.now() })
    this.bytes += text.length
    for (const [oldest, { text: dropped }] of this.cache) {
      if (this.bytes <= MAX_CACHED_BYTES) break
      this.cache.delete(oldest)
      this.bytes -= dropped.length
    }
  }
}

/** Validates all lines of a goggle, with pauses: the longest goggle takes a third of a second of the serving thread. */
async function validateLines(text: string) {
  const lines = hostedGoggleLines(text)
  for (let number = 1; ; number++) {
    const next = lines.next()
    if (next.done) return next.value
    if (number % LINES_AT_ONCE === 0) await new Promise((resolve) => setImmediate(resolve))
  }
}

const UNREADABLE: Readonly<Record<string, string>> = {
  too_large: `the goggle is larger than ${MAX_GOGGLE_BYTES} bytes`,
  wrong_type: 'the URL does not return plain text; use the URL of the raw file',
  not_allowed: 'the URL redirects to another host',
  too_many_redirects: 'the URL redirects too many times',
}

function wrong(rule: string): Result<never, UpstreamFailure> {
  return err({ kind: 'invalid_input', reason: `goggles: ${rule}`, input: { param: 'goggles', rule } })
}

/** The URL of a goggle's text, given the page that people copy from their browser: the raw file of a GitHub or GitLab page. */
export function rawAddress(page: URL): URL {
  const url = new URL(page)
  url.hash = ''
  const steps = url.pathname.split('/').filter(Boolean)
  if (url.hostname === 'github.com' && (steps[2] === 'blob' || steps[2] === 'raw') && steps.length > 4) {
    url.hostname = 'raw.githubusercontent.com'
    url.pathname = `/${[...steps.slice(0, 2), ...steps.slice(3)].join('/')}`
  } else if (url.hostname === 'gist.github.com' && steps.length <= 2) {
    url.pathname = `/${[...steps, 'raw'].join('/')}`
  } else if (url.hostname === 'gitlab.com') {
    const dash = steps.indexOf('-')
    if (steps[dash + 1] === 'blob') steps[dash + 1] = 'raw'
    if (dash >= 0 && steps[dash + 1] === 'snippets' && steps.length === dash + 3) steps.push('raw')
    url.pathname = `/${steps.join('/')}`
  }
  return url
}
