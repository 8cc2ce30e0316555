import type { Static } from '@sinclair/typebox'
import { TIERS } from '../../core/limits/tier'
import { MODEL_PURPOSES } from '../../core/models/model'
import { MAX_ACCOUNTS, UPSTREAM_KINDS } from '../../core/models/model-file-schema'
import { ModelRecord, PricingRecord } from '../models/record'
import {
  anyObject,
  checked,
  form,
  instant,
  listOf,
  oneOf,
  orNull,
  partialForm,
  record,
  text,
  whole,
  yesOrNo,
} from '../openapi/json-schema'

const KEY = text('Our API key there. It is sealed, and never shown again. Without one, calls carry none.', {
  minLength: 1,
  maxLength: 4096,
  pattern: '^[\\x21-\\x7e]+$',
})

export const NewVendor = form(
  'A server of models.',
  {
    name: text('Its name here, such as `openai`.', { maxLength: 40 }),
    kind: oneOf(UPSTREAM_KINDS, 'Its API. `openai` stands for every OpenAI-compatible server.'),
    base_url: text("Includes the version path. Default: the vendor's.", { maxLength: 200 }),
    key: KEY,
  },
  ['base_url', 'key'],
)

export type NewVendor = Static<typeof NewVendor>

export const VendorKey = form('A new key at a vendor.', { key: KEY }, ['key'])

const Vendor = record('A server of models.', {
  name: text('Its name here.'),
  kind: oneOf(UPSTREAM_KINDS, 'Its API.'),
  base_url: text('Where it is.'),
  has_key: yesOrNo('Whether calls carry a key.'),
  key_opens: yesOrNo('Whether the sealed key can be opened. If not, set it again.'),
  models: listOf(text('A model id.'), 'The models on sale that it serves.'),
  added_at: instant('When it was added.'),
})

export const VendorList = record('The servers of models.', { vendors: listOf(Vendor, 'The vendors.') })
export type VendorList = Static<typeof VendorList>

export const VendorTest = record('What a vendor says to our key.', {
  vendor: Vendor,
  status: orNull(whole('The status of its answer.'), 'it did not answer'),
  problem: orNull(text('What is wrong, in its own words. Secrets are left out.'), 'it lists its models'),
  models: listOf(
    record('A model that it has.', {
      id: text('Its name there.'),
      vendor_price: orNull(PricingRecord, 'the sheet has no price for it'),
      sold_as: listOf(text('A model id.'), 'The models on sale that it serves.'),
    }),
    'Its models.',
  ),
})
export type VendorTest = Static<typeof VendorTest>

const PRICE = checked<object>(
  { description: 'Its price, as in its entry: an object, or a list of rules. Core validates it.' },
  (value) => (typeof value === 'object' && value !== null ? null : 'must be an object, or a list of rules'),
)
const ACCESS = {
  tiers: listOf(oneOf(TIERS, 'A tier.'), 'Accounts of these tiers.', { maxItems: TIERS.length }),
  accounts: listOf(text('Id or confirmed email address of an account.'), 'These accounts.', { maxItems: MAX_ACCOUNTS }),
}
const NewAccess = orNull(form('The accounts that may call it. For all others it does not exist.', ACCESS), 'everyone')
const RECHARGE = yesOrNo('Whether only accounts that have topped up may call it. Default: true.')

export const NewSoldModel = form(
  'A model of a vendor to sell.',
  {
    model: text('Its name at the vendor.', { maxLength: 200 }),
    id: text('The name that callers use. Default: the same.', { maxLength: 128 }),
    markup_percent: whole("What its price has on top of the vendor's in the sheet.", { minimum: 0, maximum: 10_000 }),
    price: PRICE,
    purpose: oneOf(MODEL_PURPOSES, 'What it is for. Default: what the sheet says, or text.'),
    recharge_required: RECHARGE,
    access: NewAccess,
  },
  ['id', 'markup_percent', 'price', 'purpose', 'recharge_required', 'access'],
)
export type NewSoldModel = Static<typeof NewSoldModel>

export const ChangeModel = partialForm('Changes of a model in the database.', {
  price: PRICE,
  recharge_required: RECHARGE,
  access: NewAccess,
})
export type ChangeModel = Static<typeof ChangeModel>

/** A model, as in the models file. Core validates it, as it does for the file. */
export const PutModel = form('A model to add or replace.', { entry: anyObject('The model: docs/models.md.') })

const OperatorModel = record('A model on sale.', {
  ...ModelRecord.properties,
  access: orNull(record('The accounts that may call it.', ACCESS), 'everyone'),
  in_database: yesOrNo('Whether it can be changed here. Otherwise it is in MODELS_FILE, or one of the sandbox.'),
  purchase_pricing: orNull(PricingRecord, 'what it costs the operator is not known'),
  upstreams: listOf(
    record('A server that serves it.', {
      name: text('The server and key.'),
      model: text('Its name there.'),
      vendor: orNull(text('The vendor.'), 'its key is a variable of the environment, or none'),
    }),
    'In order of preference.',
  ),
})
export type OperatorModel = Static<typeof OperatorModel>

export const OperatorModels = record('Models.', { models: listOf(OperatorModel, 'The models.') })
export type OperatorModels = Static<typeof OperatorModels>

export const ReviewPrices = partialForm(
  "The prices of models next to those of their vendors. Without a sheet: the gateway's own.",
  {
    sheet: anyObject("Vendors' prices, in the format of LiteLLM's model_prices_and_context_window.json."),
    markup_percent: whole('What the proposed prices have on top.', { minimum: 0, maximum: 10_000 }),
    older_than_days: whole('The age at which a price counts as old. Default: 90.', { minimum: 1, maximum: 10_000 }),
    apply: listOf(
      text('A model of the database.'),
      'The models that get the proposed price. Without it nothing is changed.',
      { maxItems: 10_000 },
    ),
  },
)

export const PriceReviews = record('The prices of models next to those of their vendors.', {
  sheet_date: orNull(text("The date of the sheet, if it is the gateway's own.")),
  models: listOf(
    record('One model.', {
      id: text('The model.'),
      vendor_model: orNull(text('The entry of the sheet; null if it has none for an upstream of the model.')),
      price: PricingRecord,
      proposed: orNull(PricingRecord, 'There is none'),
      changes: listOf(text('One difference, such as `input 2 -> 2.5`.'), 'The differences between the two.'),
      below_vendor: listOf(
        text('One price, such as `input 2 < 2.5`.'),
        'Where the price is below what the vendor charges.',
      ),
      priced_at: orNull(instant('When the price was set; null for models of MODELS_FILE.')),
      is_old: yesOrNo('Whether it was set longer ago than `older_than_days`.'),
      in_database: yesOrNo('Whether its price can be changed here. Otherwise it is in MODELS_FILE.'),
      applied: yesOrNo('Whether the proposed price now applies.'),
    }),
    'All models with an upstream outside the gateway.',
  ),
})
export type PriceReviews = Static<typeof PriceReviews>
