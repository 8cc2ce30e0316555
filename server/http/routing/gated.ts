import type { Caller, KnownCaller } from '../../pipeline/call'
import type { GatedContext, RequestContext } from '../middleware/request-context'

/** What a handler of a gated route is given by Elysia, its context as the gate left it. */
export interface GatedCall<C extends Caller = Caller, Params = unknown> {
  readonly context: GatedContext<C>
  readonly params: Params
}

type Handler<R, Params> = (elysia: { readonly context: RequestContext; readonly params: Params }) => R

/**
 * The handler of a gated route. It runs as it is: before the router looked for it, its call was authenticated, or refused and
 * answered (`request-hooks`).
 */
export function gated<R, Params>(handler: (call: GatedCall<Caller, Params>) => R): Handler<R, Params> {
  return handler as Handler<R, Params>
}

/** The same for a route that needs a key or an access token, so that its caller is known. */
export function keyed<R, Params>(handler: (call: GatedCall<KnownCaller, Params>) => R): Handler<R, Params> {
  return handler as Handler<R, Params>
}

/** For routes that answer with plain values: sends the value as the reply of its gated call, with all headers of one. */
export function gatedReply({
  context: { reply },
  response,
  set,
}: {
  readonly context: RequestContext
  readonly response: unknown
  readonly set: { readonly status?: number | string | undefined }
}): Response | undefined {
  if (!reply || response instanceof Response) return undefined
  return reply.free(response, { 'cache-control': 'no-store' }, set.status === 201 ? 201 : 200)
}
