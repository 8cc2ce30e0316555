import type { Actor } from '../../core/audit'
import { isoTime } from '../../core/clock'
import { type Failure, failure } from '../../core/failure'
import { baseUrlProblem, VENDOR_URLS } from '../../core/models/model-entry'
import type { ModelVendor, ModelVendors } from '../../core/models/model-vendors'
import { priceOrNull } from '../../core/models/price-entry'
import { markedUp, sheetPurpose, vendorPrice } from '../../core/models/price-sheet'
import { err, ok } from '../../core/result'
import type { ListedModels } from '../../pipeline/models/model-backend'
import { type OwnerSessions, SIGNED_IN_JUST_NOW } from '../middleware/caller/owner-session'
import { routeGroup } from '../middleware/request-context'
import { wirePrice } from '../models/record'
import { UNDOCUMENTED } from '../openapi/documented'
import { allowed } from '../routing/api-access'
import {
  NewSoldModel,
  NewVendor,
  type OperatorModels,
  VendorKey,
  type VendorList,
  type VendorTest,
} from './model-record'
import { operatorModel, withAccountIds } from './model-routes'
import { type AccountParts, type CommandResult, command, operatorRoles } from './operator-roles'
import type { PriceReviewParts } from './price-reviews'
import { NoBody } from './record'

export interface ModelVendorParts extends PriceReviewParts, AccountParts {
  readonly owners: OwnerSessions
  readonly vendors: ModelVendors
  /** Asks a vendor which models it has: at a public address, or a private one that the environment allows. */
  readonly listModels: (vendor: Pick<ModelVendor, 'kind' | 'baseUrl'>, key: string | null) => Promise<ListedModels>
}

interface Name {
  readonly name: string
}

/**
 * The servers of models with our keys, and their models to put on sale. What sets a key needs a recent sign-in. No route can send a key to
 * another place than the one it was given for.
 */
export function modelVendorRoutes(parts: ModelVendorParts) {
  const { owners, vendors } = parts
  const { operator } = operatorRoles(owners)
  return routeGroup({ name: 'model-vendors', prefix: '/api/operator/model-vendors' })
    .get(
      '',
      ...allowed(operator(), UNDOCUMENTED, (): VendorList => ({ vendors: vendors.all().map(vendorRecord(parts)) })),
    )
    .post(
      '',
      ...command(operator(SIGNED_IN_JUST_NOW), NewVendor, async (actor, form): CommandResult<VendorTest> => {
        const { name, kind, base_url: given = VENDOR_URLS[kind], key = null } = form
        const problem = baseUrlProblem(URL.parse(given), kind)
        if (problem !== null) return err(failure('invalid_parameter', `base_url ${problem}.`, { param: 'base_url' }))
        const baseUrl = given.replace(/\/+$/, '')
        const listed = await parts.listModels({ kind, baseUrl }, key)
        if (listed.isForbidden) return err(closed(baseUrl))
        const added = await vendors.add(actor, { name, kind, baseUrl, key })
        return added.ok ? ok(testRecord(parts, added.value, listed)) : added
      }),
    )
    .post('/:name/test', ...command(operator(), NoBody, (_actor, _form, { name }: Name) => tested(parts, name)))
    .post(
      '/:name/key',
      ...command(operator(SIGNED_IN_JUST_NOW), VendorKey, async (actor, { key = null }, { name }: Name) => {
        const vendor = await vendors.setKey(actor, name, key)
        return vendor.ok ? tested(parts, name) : vendor
      }),
    )
    .post(
      '/:name/models',
      ...command(operator(), NewSoldModel, (actor, form, { name }: Name) => sold(parts, actor, name, form)),
    )
    .delete('/:name', ...command(operator(), NoBody, (actor, _form, { name }: Name) => vendors.remove(actor, name)))
}

/** Lists the models of a vendor, which shows whether our key is good. */
async function tested(parts: ModelVendorParts, name: string): CommandResult<VendorTest> {
  const vendor = parts.vendors.byName(name)
  if (!vendor.ok) return vendor
  const key = parts.vendors.keyOf(name, vendor.value.baseUrl)
  if (key === undefined)
    return err(failure('invalid_state', `The key of "${name}" cannot be opened with the SEALING_KEYS. Set it again.`))
  const listed = await parts.listModels(vendor.value, key)
  return listed.isForbidden ? err(closed(vendor.value.baseUrl)) : ok(testRecord(parts, vendor.value, listed))
}

/** Puts a model of a vendor on sale, at a price of its own or at the sheet's with a markup. */
async function sold(
  parts: ModelVendorParts,
  actor: Actor,
  name: string,
  given: NewSoldModel,
): CommandResult<OperatorModels> {
  const { vendors, models, modelAdmin, priceSheet } = parts
  const { prices } = priceSheet
  const vendor = vendors.byName(name)
  if (!vendor.ok) return vendor
  const form = await withAccountIds(parts, given)
  if (!form.ok) return form
  const { model, id = model, markup_percent: markup, price: own, recharge_required = true, access } = form.value
  if (models.byId(id))
    return err(failure('invalid_state', `A model "${id.slice(0, 80)}" is on sale already. Choose another id.`))
  if (own && markup !== undefined)
    return err(failure('invalid_parameter', 'Send a price or a markup, but not both.', { param: 'markup_percent' }))
  const upstream = { ...vendor.value, model }
  const purpose = given.purpose ?? sheetPurpose(prices, upstream)
  const sheet = vendorPrice(prices, upstream, purpose)
  const price = own ?? (sheet && markedUp(sheet.price, markup ?? 0))
  if (!price)
    return err(failure('invalid_parameter', `The sheet has no price for "${model}". Send one.`, { param: 'price' }))
  const added = await modelAdmin.put(actor, {
    id,
    upstream: { vendor: name, model },
    price,
    ...(sheet && { purchase_price: sheet.price }),
    ...(purpose !== 'text' && { purpose }),
    ...(sheet?.contextTokens && { context_tokens: sheet.contextTokens }),
    ...(sheet?.maxOutputTokens && { max_output_tokens: sheet.maxOutputTokens }),
    recharge_required,
    ...(access && { access }),
  })
  return added.ok ? ok({ models: [operatorModel(added.value, true)] }) : added
}

function testRecord(
  parts: ModelVendorParts,
  vendor: ModelVendor,
  { status, problem, models }: ListedModels,
): VendorTest {
  const { priceSheet, models: catalog } = parts
  const onSale = catalog.list()
  return {
    vendor: vendorRecord(parts)(vendor),
    status,
    problem,
    models: models.map((model) => {
      const upstream = { ...vendor, model }
      const purpose = sheetPurpose(priceSheet.prices, upstream)
      const sheet = vendorPrice(priceSheet.prices, upstream, purpose)
      const price = sheet && priceOrNull(sheet.price, { id: model, purpose, upstreams: [vendor] })
      return {
        id: model,
        vendor_price: price && wirePrice(price),
        sold_as: onSale
          .filter(({ upstreams }) => upstreams.some((one) => one.vendor === vendor.name && one.model === model))
          .map(({ id }) => id),
      }
    }),
  }
}

function vendorRecord({ vendors }: ModelVendorParts) {
  return ({ name, kind, baseUrl, sealedKey, created }: ModelVendor): VendorList['vendors'][number] => ({
    name,
    kind,
    base_url: baseUrl,
    has_key: sealedKey !== null,
    key_opens: vendors.keyOf(name, baseUrl) !== undefined,
    models: [...vendors.modelsOf(name)],
    added_at: isoTime(created),
  })
}

function closed(baseUrl: string): Failure {
  return failure(
    'invalid_parameter',
    `${URL.parse(baseUrl)?.hostname} is not a public address. To use it, add it to ALLOW_PRIVATE_UPSTREAMS and start again.`,
    { param: 'base_url' },
  )
}
