import { openGuardedFetch } from '../../../../server/adapters/outbound/guarded-fetch'
import { trustedFetch } from '../../../../server/adapters/outbound/one-hop'
import { PublishedGoggles } from '../../../../server/adapters/websearch/goggles/published-goggles'
import {
  openSearxngWebsearch,
  type SearxngWebsearchOptions,
} from '../../../../server/adapters/websearch/searxng/open-searxng-websearch'
import { HttpDouble, type Received } from '../../../support/doubles/http-double'
import {
  DUCKDUCKGO,
  type EngineConfig,
  type Found,
  PICTURES,
  searxngDouble,
} from '../../../support/doubles/searxng-server'

export const NOW = Date.parse('2026-03-20T12:00:00Z')

/** A SearXNG that finds what a test says, and a web of `*.test` sites behind one server. Every other name does not exist. */
export class SearxngBench {
  found: Found = { results: [] }
  /** Its findings by the question, where that matters. */
  find: (received: Received) => Found = () => this.found
  /** The engines that it lists; null when it lists none. */
  engines: readonly EngineConfig[] | null = [DUCKDUCKGO, PICTURES]
  /** Pages by host and path. Others are 404. */
  pages: Record<string, (received: Received) => Response | Promise<Response>> = {}
  now = NOW
  readonly searxng: HttpDouble
  readonly web: HttpDouble

  constructor() {
    this.searxng = searxngDouble(
      (received) => this.find(received),
      () => this.engines,
    )
    this.web = new HttpDouble((received) => {
      const host = (received.headers.get('host') ?? '').split(':')[0]
      return this.pages[`${host}${received.path}`]?.(received) ?? new Response('gone', { status: 404 })
    })
  }

  /** The address of a page of the web. */
  at(page: string): string {
    const [host = '', ...steps] = page.split('/')
    return `http://${host}:${this.web.port}/${steps.join('/')}`
  }

  html(body: string, title = 'A page'): () => Response {
    const text = `<!doctype html><html><head><title>${title}</title></head><body><article>${body}</article></body></html>`
    return () => new Response(text, { headers: { 'content-type': 'text/html; charset=utf-8' } })
  }

  open(more: Partial<SearxngWebsearchOptions> = {}) {
    const clock = { now: () => this.now }
    const fetchPage = openGuardedFetch({
      userAgent: 'paid-api-gateway/0.1 (+https://gateway.example)',
      permits: (address, port) => address === '127.0.0.1' && port === this.web.port,
      async resolver(host) {
        if (!host.endsWith('.test')) throw new Error('ENOTFOUND')
        return [host === 'inside.test' ? '10.0.0.7' : '127.0.0.1']
      },
    })
    return openSearxngWebsearch({
      searxngUrl: this.searxng.url,
      strictEngines: [],
      fetch: trustedFetch,
      fetchPage,
      agent: 'paid-api-gateway',
      goggles: new PublishedGoggles(fetchPage, clock),
      clock,
      baseUrl: 'https://gateway.example',
      budgetMs: 9_000,
      ...more,
    })
  }

  reset(): void {
    this.found = { results: [] }
    this.engines = [DUCKDUCKGO, PICTURES]
    this.pages = {}
    this.now = NOW
    this.searxng.reset()
    this.web.reset()
  }

  async stop(): Promise<void> {
    await Promise.all([this.searxng.stop(), this.web.stop()])
  }
}
