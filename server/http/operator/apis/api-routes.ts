import type { ParameterTable } from '../../../core/catalog/parameters'
import {
  ApiChange,
  ApiImport,
  ApiLift,
  ApplyForm,
  type ImportPlan,
  NewApi,
  NewTrial,
  type OneApi,
} from '../../apis/record'
import { type OwnerSessions, SIGNED_IN_JUST_NOW } from '../../middleware/caller/owner-session'
import { OPERATOR_BODY } from '../../middleware/input/json-body'
import { queryOf } from '../../middleware/input/list-query'
import { readBody } from '../../middleware/input/validate-body'
import { type RequestContext, routeGroup } from '../../middleware/request-context'
import { taken } from '../../middleware/response/failures'
import { documented, UNDOCUMENTED } from '../../openapi/documented'
import { allowed } from '../../routing/api-access'
import { CONSOLE_ONLY, command, operatorRoles } from '../operator-roles'
import { type ApiCommandParts, ApiCommands } from './api-commands'
import { API_DOCS } from './api-docs'

const IMPORT_QUERY = {
  dry_run: { in: 'query', kind: 'boolean', default: false, description: 'Only show the plan.' },
} as const satisfies ParameterTable

interface Name {
  readonly name: string
}

/** APIs that an operator puts on sale (spec D12). Only for operators; every change is audited. */
export function operatorApiRoutes(parts: ApiCommandParts & { readonly owners: OwnerSessions }) {
  const orders = new ApiCommands(parts)
  const { operator } = operatorRoles(parts.owners)
  /** A change that sends a secret to another place, or sets one, needs a recent sign-in. */
  const requireRecentSignIn = async (
    context: RequestContext,
    name: string,
    sent: Pick<ApiChange, 'auth' | 'base_url'>,
  ) => {
    if (orders.movesSecret(name, sent)) await operator(SIGNED_IN_JUST_NOW).admit(context)
  }
  return routeGroup({ name: 'operator-apis', prefix: '/api/operator/apis' })
    .get('', ...allowed(operator(), documented(API_DOCS.list), () => orders.list()))
    .post(
      '',
      ...allowed(operator(), documented(API_DOCS.create), async ({ actor, context, set }): Promise<OneApi> => {
        const sent = await readBody(NewApi, context, undefined, OPERATOR_BODY)
        await requireRecentSignIn(context, sent.name, sent)
        const created = taken(await orders.create(actor, sent))
        set.status = 201
        return created
      }),
    )
    .post(
      '/import',
      ...allowed(
        operator(),
        documented(API_DOCS.import, IMPORT_QUERY),
        async ({ actor, context }): Promise<ImportPlan> => {
          const { dry_run } = queryOf(IMPORT_QUERY, context)
          const sent = await readBody(ApiImport, context, undefined, OPERATOR_BODY)
          if (!dry_run) await requireRecentSignIn(context, sent.name, sent)
          return taken(await orders.importDocument(actor, sent, dry_run))
        },
      ),
    )
    .get(
      '/:name',
      ...allowed(operator(), documented(API_DOCS.show), (_call, { name }: Name) => taken(orders.show(name))),
    )
    .patch(
      '/:name',
      ...allowed(
        operator(),
        documented(API_DOCS.change),
        async ({ actor, context }, { name }: Name): Promise<OneApi> => {
          taken(orders.show(name))
          const sent = await readBody(ApiChange, context, undefined, OPERATOR_BODY)
          await requireRecentSignIn(context, name, sent)
          return taken(await orders.change(actor, name, sent))
        },
      ),
    )
    .delete(
      '/:name',
      ...allowed(operator(), documented(API_DOCS.remove), async ({ actor }, { name }: Name) =>
        taken(await orders.remove(actor, name)),
      ),
    )
}

/** The whole catalog as a file. It can send any secret of the server to another host, so only the console may apply it. */
export function catalogFileRoutes(parts: ApiCommandParts) {
  const orders = new ApiCommands(parts)
  return routeGroup({ name: 'operator-catalog', prefix: '/api/operator/catalog' })
    .get('', ...allowed(CONSOLE_ONLY, UNDOCUMENTED, () => orders.export()))
    .post('', ...command(CONSOLE_ONLY, ApplyForm, (actor, form) => orders.apply(actor, form), OPERATOR_BODY))
}

/** Actions of an operator on an API other than changes: trying an operation, and opening operations that overruns closed. */
export function operatorApiActRoutes(parts: ApiCommandParts & { readonly owners: OwnerSessions }) {
  const orders = new ApiCommands(parts)
  const { operator } = operatorRoles(parts.owners)
  return routeGroup({ name: 'operator-api-acts', prefix: '/api/operator/apis' })
    .post(
      '/:name/test',
      ...allowed(operator(), documented(API_DOCS.test), async ({ actor, context }, { name }: Name) =>
        taken(await orders.test(actor, name, await readBody(NewTrial, context, undefined, OPERATOR_BODY))),
      ),
    )
    .post(
      '/:name/lift',
      ...allowed(operator(), documented(API_DOCS.lift), async ({ actor, context }, { name }: Name) =>
        taken(await orders.lift(actor, name, await readBody(ApiLift, context, {}))),
      ),
    )
}
