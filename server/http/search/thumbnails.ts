import type { ParameterTable } from '../../core/catalog/parameters'
import { HOUR_MS } from '../../core/clock'
import { type Failure, failure } from '../../core/failure'
import type { AccountId } from '../../core/ids'
import type { OutboundFetch } from '../../core/outbound/outbound-fetch'
import { err, ok, type Result } from '../../core/result'
import type { OwnerSessions } from '../middleware/caller/owner-session'
import { queryOf } from '../middleware/input/list-query'
import { routeGroup } from '../middleware/request-context'
import { taken } from '../middleware/response/failures'
import { UNDOCUMENTED } from '../openapi/documented'
import { allowed, signedIn } from '../routing/api-access'

/** Image types that cannot run scripts. SVG can when it is opened as a page. */
const TYPES = ['image/png', 'image/jpeg', 'image/webp', 'image/gif', 'image/avif']
const MAX_BYTES = 2 * 1024 * 1024
const TIMEOUT_MS = 5000
const CACHE_BYTES = 32 * 1024 * 1024
const CACHE_MS = HOUR_MS
/** Maximum concurrent fetches per account. A browser makes six at a time. */
const MAX_CONCURRENT = 16

export interface Thumbnail {
  readonly contentType: string
  readonly body: Uint8Array<ArrayBuffer>
}

/**
 * Fetches third-party images for the dashboard, so that the owner's browser only connects to the gateway. Fetches only images,
 * only from public addresses, and caches the most recent for an hour.
 */
export class Thumbnails {
  private readonly fetch: OutboundFetch
  private readonly now: () => number
  /** Least recently used first. */
  private readonly cache = new Map<string, Thumbnail & { readonly until: number }>()
  private cachedBytes = 0
  private readonly underWay = new Map<AccountId, number>()

  constructor(fetch: OutboundFetch, now: () => number) {
    this.fetch = fetch
    this.now = now
  }

  async get(account: AccountId, url: string): Promise<Result<Thumbnail, Failure>> {
    const cachedThumbnail = this.cached(url)
    if (cachedThumbnail) return ok(cachedThumbnail)
    const busy = this.underWay.get(account) ?? 0
    if (busy >= MAX_CONCURRENT)
      return err(
        failure('rate_limit_exceeded', 'Too many images are being loaded at once. Try again in a moment.', {
          retryAfterSeconds: 1,
        }),
      )
    this.underWay.set(account, busy + 1)
    try {
      return await this.fetched(url)
    } finally {
      const left = (this.underWay.get(account) ?? 1) - 1
      if (left > 0) this.underWay.set(account, left)
      else this.underWay.delete(account)
    }
  }

  private async fetched(url: string): Promise<Result<Thumbnail, Failure>> {
    const answer = await this.fetch({
      url,
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
      maxRedirects: 3,
      contentTypes: TYPES,
      headers: { accept: TYPES.join(', ') },
    })
    // The same message for every reason, so that this route does not reveal which addresses respond.
    if (!answer.ok || answer.value.status !== 200)
      return err(failure('resource_not_found', 'This image could not be loaded.'))
    const { contentType, body } = answer.value
    this.keep(url, { contentType, body })
    return ok({ contentType, body })
  }

  private cached(url: string): Thumbnail | null {
    const entry = this.cache.get(url)
    if (!entry) return null
    this.drop(url, entry)
    if (entry.until < this.now()) return null
    this.cache.set(url, entry)
    this.cachedBytes += entry.body.byteLength
    return entry
  }

  private keep(url: string, thumbnail: Thumbnail): void {
    const before = this.cache.get(url)
    if (before) this.drop(url, before)
    this.cache.set(url, { ...thumbnail, until: this.now() + CACHE_MS })
    this.cachedBytes += thumbnail.body.byteLength
    for (const [oldest, entry] of this.cache) {
      if (this.cachedBytes <= CACHE_BYTES) return
      this.drop(oldest, entry)
    }
  }

  private drop(url: string, entry: Thumbnail): void {
    this.cache.delete(url)
    this.cachedBytes -= entry.body.byteLength
  }
}

const QUERY = {
  url: { in: 'query', kind: 'text', min: 1, max: 4096, required: true, description: 'The URL of the image.' },
} as const satisfies ParameterTable

/** Images of search results for the dashboard. Needs the owner's session, so that it is not an open proxy. */
export function thumbnailRoutes({ owners, thumbnails }: { owners: OwnerSessions; thumbnails: Thumbnails }) {
  return routeGroup({ name: 'thumbnail', prefix: '/api' }).get(
    '/thumbnail',
    ...allowed(signedIn(owners, 'calls:make'), UNDOCUMENTED, async ({ accountId, context }) => {
      const { contentType, body } = taken(await thumbnails.get(accountId, queryOf(QUERY, context).url))
      return new Response(body, {
        headers: {
          'content-type': contentType,
          'cache-control': 'private, max-age=3600',
          // Third-party bytes on our origin: nothing in them may run, whatever their type.
          'content-security-policy': "default-src 'none'; sandbox",
          'x-content-type-options': 'nosniff',
          'cross-origin-resource-policy': 'same-origin',
        },
      })
    }),
  )
}
