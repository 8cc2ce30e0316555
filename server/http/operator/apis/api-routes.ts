import type { ParameterTable } from '../../../core/catalog/parameters'
import {
  ApiChange,
  ApiImport,
  ApiLift,
  type ApiList,
  type ApiTrial,
  type ImportPlan,
  NewApi,
  NewTrial,
  type OneApi,
  type RemovedApi,
} from '../../apis/record'
import { type OwnerSessions, SIGNED_IN_JUST_NOW } from '../../middleware/caller/owner-session'
import { OPERATOR_BODY } from '../../middleware/input/json-body'
import { queryOf } from '../../middleware/input/list-query'
import { readBody } from '../../middleware/input/validate-body'
import { type RequestContext, routeGroup } from '../../middleware/request-context'
import { taken } from '../../middleware/response/failures'
import { documented } from '../../openapi/documented'
import { answeredBy } from '../cells/cell-routing'
import { operatorGate } from '../operator-gate'
import { type ApiCommandParts, ApiCommands } from './api-commands'
import { API_DOCS } from './api-docs'

const IMPORT_QUERY = {
  dry_run: { in: 'query', kind: 'boolean', default: false, description: 'Only show the plan.' },
} as const satisfies ParameterTable

/** APIs that an operator puts on sale (spec-answers 12). Only for operators; every change is audited. */
export function operatorApiRoutes(parts: ApiCommandParts & { readonly owners: OwnerSessions }) {
  const orders = new ApiCommands(parts)
  const { operator, actorOf } = operatorGate(parts.owners)
  /** A change that sends a secret to another place, or sets one, needs a recent sign-in. */
  const requireRecentSignIn = async (
    context: RequestContext,
    name: string,
    sent: Pick<ApiChange, 'auth' | 'base_url'>,
  ) => {
    if (orders.movesSecret(name, sent)) await operator(context, SIGNED_IN_JUST_NOW)
  }
  return routeGroup({ name: 'operator-apis', prefix: '/api/operator/apis' })
    .get(
      '',
      async ({ context }): Promise<ApiList> => {
        await operator(context)
        return orders.list()
      },
      answeredBy('main', documented(API_DOCS.list)),
    )
    .post(
      '',
      async ({ context, set }): Promise<OneApi> => {
        const actor = await actorOf(context)
        const sent = await readBody(NewApi, context, undefined, OPERATOR_BODY)
        await requireRecentSignIn(context, sent.name, sent)
        const created = taken(await orders.create(actor, sent))
        set.status = 201
        return created
      },
      { parse: 'none', ...answeredBy('main', documented(API_DOCS.create)) },
    )
    .post(
      '/import',
      async ({ context }): Promise<ImportPlan> => {
        const actor = await actorOf(context)
        const { dry_run } = queryOf(IMPORT_QUERY, context)
        const sent = await readBody(ApiImport, context, undefined, OPERATOR_BODY)
        if (!dry_run) await requireRecentSignIn(context, sent.name, sent)
        return taken(await orders.importDocument(actor, sent, dry_run))
      },
      { parse: 'none', ...answeredBy('main', documented(API_DOCS.import, IMPORT_QUERY)) },
    )
    .get(
      '/:name',
      async ({ context, params }): Promise<OneApi> => {
        await operator(context)
        return taken(orders.show(params.name))
      },
      answeredBy('main', documented(API_DOCS.show)),
    )
    .patch(
      '/:name',
      async ({ context, params }): Promise<OneApi> => {
        const actor = await actorOf(context)
        taken(orders.show(params.name))
        const sent = await readBody(ApiChange, context, undefined, OPERATOR_BODY)
        await requireRecentSignIn(context, params.name, sent)
        return taken(await orders.change(actor, params.name, sent))
      },
      { parse: 'none', ...answeredBy('main', documented(API_DOCS.change)) },
    )
    .delete(
      '/:name',
      async ({ context, params }): Promise<RemovedApi> =>
        taken(await orders.remove(await actorOf(context), params.name)),
      answeredBy('main', documented(API_DOCS.remove)),
    )
}

/** What an operator does with an API beside changing it: trying an operation, and opening what overruns closed. */
export function operatorApiActRoutes(parts: ApiCommandParts & { readonly owners: OwnerSessions }) {
  const orders = new ApiCommands(parts)
  const { actorOf, order } = operatorGate(parts.owners)
  return routeGroup({ name: 'operator-api-acts', prefix: '/api/operator/apis' })
    .post(
      '/:name/test',
      async ({ context, params }): Promise<ApiTrial> => {
        const actor = await actorOf(context)
        return taken(await orders.test(actor, params.name, await readBody(NewTrial, context, undefined, OPERATOR_BODY)))
      },
      { parse: 'none', ...answeredBy('main', documented(API_DOCS.test)) },
    )
    .post(
      '/:name/lift',
      ({ context, params }): Promise<OneApi> =>
        order(context, ApiLift, (actor, sent) => orders.lift(actor, params.name, sent)),
      { parse: 'none', ...answeredBy('main', documented(API_DOCS.lift)) },
    )
}
