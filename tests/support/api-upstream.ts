import type { Api } from '../../server/core/apis/api'
import { anApi } from './apis'
import { openHarness } from './harness'

/** The requests that the upstream double got. */
export interface UpstreamCall {
  readonly method: string
  /** Path and query, as they came. */
  readonly target: string
  readonly headers: Record<string, string>
  readonly body: string
}

type Answering = (call: UpstreamCall, request: Request) => Response | Promise<Response>

/**
 * Another company's API: a real server on a port of its own, which records what it got at its `url`. Anything else is refused and not recorded: the
 * port may have been another test's, whose gateway still calls it.
 */
export function openApiUpstream(answer: Answering = (call) => Response.json(call)) {
  const calls: UpstreamCall[] = []
  const state = { answer }
  const place = `/${crypto.randomUUID()}`
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { pathname, search } = new URL(request.url)
      if (!pathname.startsWith(place)) return new Response(null, { status: 404 })
      const headers = Object.fromEntries(request.headers)
      const target = pathname.slice(place.length) + search
      const call = { method: request.method, target, headers, body: await request.text() }
      calls.push(call)
      return state.answer(call, request)
    },
  })
  return {
    calls,
    url: `http://127.0.0.1:${server.port}${place}`,
    /** Answers from now on. */
    answers(next: Answering) {
      state.answer = next
    },
    close: () => server.stop(true),
  }
}

export type ApiUpstream = ReturnType<typeof openApiUpstream>

/** A gateway that sells one API of an upstream double. */
export async function openApiGateway(
  part: Partial<Api> = {},
  { env = {}, answer }: { readonly env?: Record<string, string>; readonly answer?: Answering } = {},
) {
  const upstream = openApiUpstream(answer)
  const harness = await openHarness({
    env: {
      ALLOW_PRIVATE_UPSTREAMS: '127.0.0.1',
      UPSTREAM_KEY: 'upstream-secret-1',
      CREDIT_BUYS_PAID_PROVIDERS: 'true',
      ...env,
    },
  })
  const sell = (next: Partial<Api>) => harness.core.apis.replace([anApi({ baseUrl: `${upstream.url}/base`, ...next })])
  sell(part)
  return {
    ...harness,
    upstream,
    sell,
    async close(keepFolder = false) {
      await harness.close(keepFolder)
      await upstream.close()
    },
  }
}

export type ApiGateway = Awaited<ReturnType<typeof openApiGateway>>
