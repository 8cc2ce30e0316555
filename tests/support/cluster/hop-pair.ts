import { Forwarder, type ForwarderParts, type Missing } from '../../../server/adapters/cluster/forwarder'
import { asksForLink, hopOf, hopRefusal, probeAnswer } from '../../../server/adapters/cluster/hop-gate'
import { HopHeaders } from '../../../server/adapters/cluster/hop-header'
import { IncomingLinks } from '../../../server/adapters/cluster/incoming-links'
import { MAIN_CELL } from '../../../server/core/cluster/cells'
import type { Hopped, Peer } from '../../../server/core/cluster/hop'
import { until } from '../until'

const TERM = 7
const key = { id: 'k1', secret: new Uint8Array(32).fill(1) }
const JUDGED = '203.0.113.7'

type Answer = (request: Request, hop: Hopped) => Response | Promise<Response>

type Limits = Pick<ForwarderParts, 'deadlineMs' | 'silentMs' | 'stalledMs' | 'maxWaitingBytes'>

/** How the first node reaches the owner: each request on a connection of its own, or many on one. */
export type Way = 'connections' | 'a link'
export const WAYS: readonly Way[] = ['connections', 'a link']

/** Two nodes on sockets: callers reach `first`, which forwards everything to the owner, whose work is `answer`. */
export function openHopPair(options: Limits = {}, way: Way = 'connections') {
  const signer = new HopHeaders({ signing: key, accepted: [key] })
  const now = () => Date.now()
  const links = new IncomingLinks({
    answer(request, hop) {
      const refusal = hopRefusal(hop, isMeant)
      if (refusal) return refusal
      state.handled++
      state.linked++
      return state.answer(request, hop)
    },
    onFault: () => undefined,
  })
  const serve = (fetch: (request: Request, server: Bun.Server<undefined>) => Response | Promise<Response>) =>
    Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      idleTimeout: 60,
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      websocket: links.websocket,
      fetch,
      error: () => new Response('fault', { status: 500 }),
    })
  const state = {
    answer: (() => new Response('ok')) as Answer,
    /** What the owner believes: null if it owns nothing. */
    ownTerm: TERM as number | null,
    /** Where the first node sends requests. */
    peer: { cell: MAIN_CELL, nodeId: 'owner', url: '', term: TERM } as Peer,
    /** What the first node learns when it asks again. */
    found: null as Peer | null,
    /** In place of `found`: what it does until it learns who owns. */
    finding: null as ((signal: AbortSignal) => Promise<Peer | null>) | null,
    asked: 0,
    /** How often the owner was asked whether it is there. */
    probes: 0,
    missing: [] as Missing[],
    /** Whether the caller may be silent, each time that it was said. */
    silences: [] as boolean[],
    /** How many requests the owner began to handle. */
    handled: 0,
    /** How many of them came on a link. */
    linked: 0,
    /** Requests for a link that the owner answered. */
    opened: 0,
  }
  const isMeant = (cell: string, term: number) => cell === MAIN_CELL && term === state.ownTerm
  const ownerHeaders = new HopHeaders({ signing: key, accepted: [key] })
  const owner = serve(async (request, server) => {
    const hop = hopOf(request, ownerHeaders, now(), isMeant)
    if (hop === null) return new Response('not through the first node', { status: 400 })
    if (hop instanceof Response) return hop
    const probed = probeAnswer(request, hop)
    if (probed) state.probes++
    if (probed) return probed
    if (asksForLink(request, hop)) {
      state.opened++
      return way === 'a link' ? links.accept(request, server) : new Response(null, { status: 404 })
    }
    state.handled++
    return state.answer(request, hop)
  })
  const forwarder = new Forwarder({
    signer,
    now,
    ...options,
    async findOwner(_after, signal) {
      state.asked++
      return state.finding ? state.finding(signal) : state.found
    },
    refuse(_request, _call, missing) {
      state.missing.push(missing)
      return Response.json(missing, { status: 503, headers: { 'retry-after': '1' } })
    },
  })
  const first = serve((request) => {
    const hop = hopOf(request, signer, now(), () => false)
    if (hop instanceof Response) return hop
    if (hop && asksForLink(request, hop)) return new Response(null, { status: 404 })
    const allowSilence = (isAllowed: boolean) => void state.silences.push(isAllowed)
    return forwarder.forward(request, state.peer, { address: JUDGED, requestId: 'req_1', allowSilence })
  })
  const ownerPort = owner.port ?? 0
  state.peer = { ...state.peer, url: `http://127.0.0.1:${ownerPort}` }
  return Object.assign(state, {
    ...{ forwarder, ownerPort, signer, links },
    /** Sends requests until one was carried by a link, where there are any; then counts from zero. */
    async warm() {
      const { answer, ownTerm } = state
      Object.assign(state, { answer: () => new Response('warm'), ownTerm: TERM })
      if (way === 'a link')
        await until(async () => (await fetch(`http://127.0.0.1:${first.port}/`)).ok && state.linked > 0)
      Object.assign(state, { answer, ownTerm, handled: 0, linked: 0, asked: 0, silences: [], missing: [] })
    },
    url: `http://127.0.0.1:${first.port}`,
    port: first.port ?? 0,
    async close() {
      await forwarder.close()
      await first.stop(true)
      await owner.stop(true)
    },
  })
}

/** Sends bytes, and gives what comes back until the connection closes. */
export function rawRequest(port: number, bytes: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  let seen = ''
  void Bun.connect({
    hostname: '127.0.0.1',
    port,
    socket: {
      open: (socket) => void socket.write(Buffer.from(bytes, 'latin1')),
      data(_socket, part) {
        seen += part.toString('latin1')
      },
      close: () => resolve(seen),
    },
  })
  return promise
}
