import { MAX_BATCH_PARTS } from '../../core/batch'
import { failure } from '../../core/failure'
import type { OwnerSessions } from '../middleware/caller/owner-session'
import { type RequestContext, routeGroup, withOrigin } from '../middleware/request-context'
import { Failed, failureBody } from '../middleware/response/failures'
import { UNDOCUMENTED } from '../openapi/documented'
import { allowed, signedIn } from '../routing/api-access'

const AT_ONCE = 3
/** An owner's page needs a tenth. */
const MAX_CHARACTERS = 1024 * 1024
const TOO_LARGE = failure('payload_too_large', 'The answers of this batch are too large. Ask for this part alone.')

/** Paths that are no list or record of an owner: streams, pictures, sign-in, and a batch within a batch. */
const NO_PARTS = /^\/api\/(batch|events|thumbnail|auth|operator)(\/|$)/

/**
 * `GET /api/batch?get=keys%3Flimit%3D1&get=notices`: several reads of the dashboard in one request, because a browser with much latency
 * pays for each, and sends only six at once. Each part is dispatched like a request of its own, with the same hooks and checks, and
 * answers with its own status and counts in the window of the account. Few are worked on at once; one that is slow delays the others. A part
 * that would make the whole answer too large is a 413.
 */
export function batchRoutes(
  { owners }: { readonly owners: OwnerSessions },
  dispatch: (request: Request) => Promise<Response>,
) {
  return routeGroup({ name: 'batch', prefix: '/api' }).get(
    '/batch',
    ...allowed(signedIn(owners, 'member'), UNDOCUMENTED, async ({ context }) => {
      const urls = context.url.searchParams.getAll('get').map((path) => partUrl(path, context.url.origin))
      if (urls.length === 0 || urls.length > MAX_BATCH_PARTS)
        throw refusal(`Send 1 to ${MAX_BATCH_PARTS} parts as "get".`)
      const parts = await answersOf(urls, (url) => partOf(url, context, dispatch), context)
      const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' }
      return new Response(`{"parts":[${parts.join()}]}`, { headers })
    }),
  )
}

async function answersOf(
  urls: readonly URL[],
  answerTo: (url: URL) => Promise<string>,
  { ids }: RequestContext,
): Promise<readonly string[]> {
  const answers: string[] = []
  let left = MAX_CHARACTERS
  const parts = urls.entries()
  const work = async () => {
    for (const [at, url] of parts) {
      const answer = left > 0 ? await answerTo(url) : ''
      const fits = left > 0 && answer.length <= left
      // Parts after one that does not fit are not asked for: the dashboard asks for each of them alone.
      left = fits ? left - answer.length : 0
      const { pathname } = url
      answers[at] = fits ? answer : `{"status":413,"body":${JSON.stringify(failureBody(TOO_LARGE, ids.own, pathname))}}`
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return answers
}

/** `path`: below `/api/`, with its query. */
function partUrl(path: string, origin: string): URL {
  const url = URL.parse(`/api/${path}`, origin)
  if (url === null || url.origin !== origin || !url.pathname.startsWith('/api/') || NO_PARTS.test(url.pathname))
    throw noPart()
  // No client sends it, so no route expects it.
  url.hash = ''
  return url
}

/** The answer to one part, as the text of a member of `parts`. */
async function partOf(
  url: URL,
  { request: outer }: RequestContext,
  dispatch: (request: Request) => Promise<Response>,
): Promise<string> {
  const sent = new Headers(outer.headers)
  // The parts are not compressed one by one, and each is whole.
  for (const name of ['accept-encoding', 'if-none-match', 'range']) sent.delete(name)
  const part = new Request(url, { headers: sent, signal: outer.signal })
  const response = await dispatch(withOrigin(part, { received: outer }))
  const { headers } = response
  // A file to download may be long, and is streamed: a batch would hold it in memory as often as it is asked for.
  if (!headers.get('content-type')?.startsWith('application/json') || headers.has('content-disposition')) {
    await response.body?.cancel()
    throw noPart()
  }
  return `{"status":${response.status},"body":${await response.text()}}`
}

function noPart(): Failed {
  return refusal('A part must be a path below /api/ that answers with JSON and is no file.')
}

function refusal(message: string): Failed {
  return new Failed(failure('invalid_request', message))
}
