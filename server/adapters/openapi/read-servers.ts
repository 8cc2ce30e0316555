import { elementsOf, isJson } from '../../core/json'
import { listed } from './operation-notes'
import { textIn } from './plain-texts'

const MAX_SERVERS = 20
const MAX_URL = 500

/** The URLs of servers, absolute, with the defaults of their variables, without a trailing slash. Others are left out. */
function serverUrls(servers: unknown, base: string): string[] {
  const urls = elementsOf(servers)
    .slice(0, MAX_SERVERS)
    .flatMap((server) => {
      if (!isJson(server) || typeof server['url'] !== 'string') return []
      const variables = isJson(server['variables']) ? server['variables'] : {}
      const text = server['url'].slice(0, MAX_URL).replace(/\{([^{}]+)\}/g, (whole, name: string) => {
        const variable = Object.hasOwn(variables, name) ? variables[name] : undefined
        return isJson(variable) && variable['default'] !== undefined ? textIn(variable['default']) : whole
      })
      const url = URL.parse(text, base || undefined)
      if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') return []
      return [`${url.origin}${url.pathname}`.replace(/\/+$/, '')]
    })
  return [...new Set(urls)]
}

/** Decides which operations are served where the API is called. */
export class Servers {
  private readonly base: string
  private readonly root: readonly string[]
  private readonly home: readonly string[]

  /**
   * `own`: the servers that paths and operations declare. `baseUrl`: where the API is called; if no server of the document is there, it replaces the
   * document's own servers, or without those for the ones that most operations declare.
   */
  constructor(root: unknown, own: readonly unknown[], base: string, baseUrl: string | undefined) {
    this.base = base
    this.root = serverUrls(root, base)
    const declared = own.filter(isDeclared).map((servers) => serverUrls(servers, base))
    const called = baseUrl?.replace(/\/+$/, '') ?? ''
    if ([this.root, ...declared].some((urls) => urls.includes(called))) this.home = [called]
    else this.home = isDeclared(root) ? this.root : mostFrequent(declared)
  }

  /** The document's own servers, or where it has none those of most operations. */
  get urls(): readonly string[] {
    return this.root.length > 0 ? this.root : this.home
  }

  /** Why an operation with these servers is not part of the API, or null. */
  problem(servers: unknown): string | null {
    const urls = isDeclared(servers) ? serverUrls(servers, this.base) : this.root
    // Without any server the document says nothing about the place.
    if (!isDeclared(servers) && urls.length === 0) return null
    if (urls.some((url) => this.home.includes(url))) return null
    return `is served elsewhere than the rest: ${listed(urls) || 'at an unknown place'}`
  }
}

function isDeclared(servers: unknown): servers is readonly unknown[] {
  return Array.isArray(servers) && servers.length > 0
}

function mostFrequent(lists: readonly (readonly string[])[]): readonly string[] {
  const counts = new Map<string, number>()
  for (const urls of lists) counts.set(urls.join(' '), (counts.get(urls.join(' ')) ?? 0) + 1)
  const most = Math.max(0, ...counts.values())
  return lists.find((urls) => counts.get(urls.join(' ')) === most) ?? []
}
