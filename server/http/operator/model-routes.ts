import type { Failure } from '../../core/failure'
import type { AccountId } from '../../core/ids'
import type { Model } from '../../core/models/model'
import { upstreamName } from '../../core/models/model'
import { ok, type Result } from '../../core/result'
import type { OwnerSessions } from '../middleware/caller/owner-session'
import { OPERATOR_BODY } from '../middleware/input/json-body'
import { routeGroup } from '../middleware/request-context'
import { wireModel, wirePrice } from '../models/record'
import { UNDOCUMENTED } from '../openapi/documented'
import { allowed, type Id } from '../routing/api-access'
import { ChangeModel, type OperatorModel, type OperatorModels, PutModel, ReviewPrices } from './model-record'
import { type AccountParts, CONSOLE_ONLY, command, findAccount, operatorRoles } from './operator-roles'
import { type PriceReviewParts, reviewedPrices } from './price-reviews'
import { NoBody } from './record'

export interface ModelAdminParts extends PriceReviewParts, AccountParts {
  readonly owners: OwnerSessions
}

/** Models that operators add. A whole entry can send any secret of the environment to another host, so only the console may put one. */
export function operatorModelRoutes(parts: ModelAdminParts) {
  const { models, modelAdmin, owners } = parts
  const { operator } = operatorRoles(owners)
  const listed = (some: readonly Model[]): OperatorModels => ({
    models: some.map((model) => operatorModel(model, modelAdmin.has(model.id))),
  })
  return routeGroup({ name: 'operator-models', prefix: '/api/operator/models' })
    .get('', ...allowed(operator(), UNDOCUMENTED, () => listed(models.list())))
    .post(
      '',
      ...command(
        CONSOLE_ONLY,
        PutModel,
        async (actor, { entry }) => {
          const model = await modelAdmin.put(actor, entry)
          return model.ok ? ok(listed([model.value])) : model
        },
        OPERATOR_BODY,
      ),
    )
    .post(
      '/prices',
      ...command(operator(), ReviewPrices, (actor, form) => reviewedPrices(parts, actor, form), OPERATOR_BODY),
    )
    .patch(
      '/:id',
      ...command(operator(), ChangeModel, async (actor, form, { id }: Id) => {
        const members = await withAccountIds(parts, form)
        const model = members.ok ? await modelAdmin.change(actor, id, members.value) : members
        return model.ok ? ok(listed([model.value])) : model
      }),
    )
    .delete('/:id', ...command(operator(), NoBody, (actor, _form, { id }: Id) => modelAdmin.remove(actor, id)))
}

/** A form in which accounts may be named by their email addresses, with their ids. */
export async function withAccountIds<T extends Pick<ChangeModel, 'access'>>(
  parts: AccountParts,
  form: T,
): Promise<Result<T, Failure>> {
  if (!form.access) return ok(form)
  const accounts: AccountId[] = []
  for (const name of form.access.accounts) {
    const account = await findAccount(parts, name)
    if (!account.ok) return account
    accounts.push(account.value.id)
  }
  return ok({ ...form, access: { ...form.access, accounts } })
}

/** A model as its operator sees it. */
export function operatorModel(model: Model, inDatabase: boolean): OperatorModel {
  return {
    ...wireModel(model),
    access: model.access ? { tiers: [...model.access.tiers], accounts: [...model.access.accounts] } : null,
    in_database: inDatabase,
    purchase_pricing: model.purchasePrice ? wirePrice(model.purchasePrice) : null,
    upstreams: model.upstreams.map((upstream) => ({
      name: upstreamName(upstream),
      model: upstream.model,
      vendor: upstream.vendor ?? null,
    })),
  }
}
