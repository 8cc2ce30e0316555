import type { Static } from '@sinclair/typebox'
import { API_NAME, type Api } from '../../core/apis/api'
import { API_LIMITS, MAX_DESCRIPTION, MAX_OPERATIONS, MAX_TITLE } from '../../core/apis/api-rules'
import type { ApiForm, ApiChange as CoreChange, ImportForm } from '../../core/apis/catalog/catalog-form'
import type { ImportPlan as CoreImportPlan, CatalogPlan as CorePlan } from '../../core/apis/catalog/catalog-plan'
import type { ApiClosing } from '../../core/apis/closings'
import { MAX_DOCUMENT_BYTES } from '../../core/apis/document-size'
import { isoTime } from '../../core/clock'
import { isJson } from '../../core/json'
import { formatUsd } from '../../core/money'
import type { Trial } from '../../pipeline/apis/try-operation'
import { readable } from '../middleware/input/validate-body'
import {
  anyObject,
  checked,
  form,
  instant,
  line,
  listOf,
  named,
  oneOf,
  orNull,
  partialForm,
  prose,
  record,
  text,
  whole,
  withExample,
  yesOrNo,
} from '../openapi/json-schema'
import { AUTH, authText, parseAuth } from './auth-record'
import {
  NewOperation,
  OperationChange,
  OperationRecord,
  operationChange,
  operationForm,
  operationRecord,
} from './operation-record'
import { apiPriceOf, PriceRecord, Prices } from './price-record'

const MAX_APIS = 1000

const NAME = withExample(
  'weather',
  text('The name in paths and operation names, such as `weather`.', {
    minLength: 1,
    maxLength: 40,
    pattern: API_NAME.source,
  }),
)
const BASE_URL = text('The URL that all calls go to. Their paths follow it.', { minLength: 8, maxLength: 2000 })
const OUTGOING = checked<Readonly<Record<string, string>>>(
  {
    type: 'object',
    description: 'Headers that are sent with every call.',
    additionalProperties: { type: 'string' },
    maxProperties: 30,
  },
  (value) =>
    isJson(value) && Object.keys(value).length <= 30 && Object.values(value).every((one) => typeof one === 'string')
      ? null
      : 'must be an object of at most 30 header values',
)

const SETTINGS = {
  title: line('A short title.', MAX_TITLE),
  description: prose('What it offers.', MAX_DESCRIPTION, 0),
  timeout_ms: whole('How long the upstream has for an answer.', API_LIMITS.timeoutMs),
  concurrency: whole(
    'Calls at once, over all accounts. One account gets at most half of them.',
    API_LIMITS.concurrency,
  ),
  cache_seconds: whole('How long answers of reads are kept; 0 is never.', API_LIMITS.cacheSeconds),
  headers: OUTGOING,
  enabled: yesOrNo('Whether it is on sale.'),
}
const SETTING_NAMES = Object.keys(SETTINGS) as (keyof typeof SETTINGS)[]

const OPERATIONS = listOf(NewOperation, 'Its operations.', { maxItems: MAX_OPERATIONS })
const ONLY = listOf(text('`GET /v1/forecast`, or an id.', { minLength: 1, maxLength: 600 }), 'Only these operations.', {
  maxItems: MAX_OPERATIONS,
})
const DOCUMENT = text('A Swagger 2.0 or OpenAPI 3.0 to 3.2 document, as JSON or YAML.', {
  minLength: 1,
  maxLength: MAX_DOCUMENT_BYTES,
})
const CONFIRM = text('The `confirm` of the plan, to do exactly what it shows.', { maxLength: 100 })

/** An API of a catalog file. */
export const CatalogEntry = named(
  'CatalogEntry',
  form(
    'An API with all its operations.',
    { name: NAME, base_url: BASE_URL, auth: AUTH, ...SETTINGS, operations: OPERATIONS },
    SETTING_NAMES,
  ),
)
export type CatalogEntry = Static<typeof CatalogEntry>

export const NewApi = named(
  'ApiForm',
  form(
    'An API to put on sale: with its operations, or with an OpenAPI document that describes them.',
    {
      name: NAME,
      base_url: BASE_URL,
      auth: AUTH,
      ...SETTINGS,
      operations: OPERATIONS,
      openapi: DOCUMENT,
      only: ONLY,
      price: PriceRecord,
      prices: Prices,
    },
    [...SETTING_NAMES, 'operations', 'openapi', 'only', 'price', 'prices'],
  ),
)
export type NewApi = Static<typeof NewApi>

export const ApiChange = named(
  'ApiChange',
  partialForm('What to change. The rest stays.', {
    base_url: BASE_URL,
    auth: AUTH,
    ...SETTINGS,
    operations: listOf(OperationChange, 'Operations to change or to add, by id.', { maxItems: MAX_OPERATIONS }),
    remove_operations: listOf(text('An id.', { minLength: 1, maxLength: 64 }), 'Operations to remove.', {
      maxItems: MAX_OPERATIONS,
    }),
  }),
)
export type ApiChange = Static<typeof ApiChange>

const IMPORT = {
  name: NAME,
  base_url: BASE_URL,
  auth: AUTH,
  document: DOCUMENT,
  origin: text('The URL that the document came from. Documents of the same origin that it refers to are fetched.', {
    maxLength: 2000,
  }),
  only: ONLY,
  price: PriceRecord,
  prices: Prices,
  confirm: CONFIRM,
  ...SETTINGS,
}
export const ApiImport = named(
  'ApiImport',
  form(
    'An OpenAPI document to import, for the first time or again. Of an API that is there, `base_url` and `auth` stay if left out.',
    IMPORT,
    ['base_url', 'auth', 'origin', 'only', 'price', 'prices', 'confirm', ...SETTING_NAMES],
  ),
)
export type ApiImport = Static<typeof ApiImport>

/** The whole catalog as one file. Published as `/schemas/catalog.json`. */
export const CatalogFile = named(
  'CatalogFile',
  form('Every API of the gateway. APIs that it does not name are removed.', {
    apis: listOf(CatalogEntry, 'The APIs.', { maxItems: MAX_APIS }),
  }),
)
export type CatalogFile = Static<typeof CatalogFile>

export const ApiRecord = named(
  'Api',
  record('An API as operators see it. Secrets are never shown.', {
    name: NAME,
    base_url: BASE_URL,
    auth: AUTH,
    ...SETTINGS,
    operations: listOf(OperationRecord, 'Its operations.'),
    created_at: instant('When it was created.'),
    updated_at: instant('When it was changed last.'),
  }),
)
export type ApiRecord = Static<typeof ApiRecord>

const NOTICES = listOf(text('A sentence.'), 'What the operator should know.')

const CLOSED = listOf(
  record('An operation that is closed to an account, because its upstream claimed more than the maximum price.', {
    operation: text('The id of the operation.'),
    account: text('The account.'),
    at: instant('Since when.'),
  }),
  'What is closed, and to whom.',
)
export const OneApi = named('OneApi', record('An API.', { api: ApiRecord, notices: NOTICES, closed: CLOSED }))
export type OneApi = Static<typeof OneApi>

const ApiSummary = record('An API in a list.', {
  name: NAME,
  title: SETTINGS.title,
  base_url: BASE_URL,
  auth: AUTH,
  enabled: SETTINGS.enabled,
  operations: whole('How many operations it has.', { minimum: 0 }),
  enabled_operations: whole('How many of them are on sale.', { minimum: 0 }),
  updated_at: instant('When it was changed last.'),
})
export const ApiList = named('ApiList', record('All APIs.', { apis: listOf(ApiSummary, 'The APIs, by name.') }))
export type ApiList = Static<typeof ApiList>

const IDS = (description: string) => listOf(text('An id.'), description)

export const ImportPlan = named(
  'ApiImportPlan',
  record('What an import does, or would do.', {
    applied: yesOrNo('Whether it was done. A dry run only shows the plan.'),
    is_new: yesOrNo('Whether the API is new.'),
    added: IDS('Operations that are added.'),
    changed: listOf(
      record('An operation that changes.', {
        id: text('Its id.'),
        changed: listOf(oneOf(['text', 'path', 'schema', 'price'], 'A part.'), 'What changes of it.'),
      }),
      'Operations that change.',
    ),
    removed: IDS('Operations that the document does not have any more.'),
    refused: listOf(
      record('A part that cannot be sold.', { name: text('Which.'), reason: text('Why.') }),
      'What cannot be sold.',
    ),
    notices: NOTICES,
    confirm: CONFIRM,
    api: ApiRecord,
  }),
)
export type ImportPlan = Static<typeof ImportPlan>

export const CatalogPlan = named(
  'CatalogPlan',
  record('What applying a catalog does, or would do.', {
    applied: yesOrNo('Whether it was done. A dry run only shows the plan.'),
    apis: listOf(
      record('What happens to one API.', {
        name: NAME,
        action: oneOf(['create', 'change', 'remove', 'unchanged'], 'What happens.'),
        added: IDS('Operations that are added.'),
        changed: IDS('Operations that change.'),
        removed: IDS('Operations that are removed.'),
        settings: listOf(text('A setting.'), 'Settings that change.'),
      }),
      'Every API, of the file or of the gateway.',
    ),
    notices: NOTICES,
    confirm: CONFIRM,
  }),
)
export type CatalogPlan = Static<typeof CatalogPlan>

export const RemovedApi = record('The API that was removed.', { name: NAME })
export type RemovedApi = Static<typeof RemovedApi>

export const NewTrial = named(
  'ApiTrialForm',
  form('A call to try.', {
    operation: text('The id of the operation.', { minLength: 1, maxLength: 64 }),
    input: anyObject('Parameters by name; a body under `body`.'),
  }),
)
export type NewTrial = Static<typeof NewTrial>

export const ApiTrial = named(
  'ApiTrial',
  record('What came of asking the upstream once. Nothing is charged.', {
    status: orNull(whole("The upstream's status; null if it was not asked or did not answer.")),
    content_type: orNull(text('The type of its answer.')),
    bytes: whole('How long its answer is.', { minimum: 0 }),
    preview: orNull(text('The beginning of its answer, if it is text.')),
    units: orNull(text('The units that were counted.')),
    held_usd: orNull(text('The maximum that is held for such a call, in US dollars.')),
    cost_usd: orNull(text('What it would have cost, in US dollars.')),
    problem: orNull(text('Why a call like this would not be charged.')),
  }),
)
export type ApiTrial = Static<typeof ApiTrial>

export const ApiLift = named(
  'ApiLift',
  form(
    'Opens operations that are closed to accounts.',
    {
      operation: text('The id of one operation; all, if left out.', { minLength: 1, maxLength: 64 }),
      account: text('The id of one account; all, if left out.', { pattern: '^acct_[0-9a-f]{32}$' }),
    },
    ['operation', 'account'],
  ),
)
export type ApiLift = Static<typeof ApiLift>

export const ApplyForm = form(
  'The catalog to have.',
  { catalog: anyObject('The content of the file.'), dry_run: yesOrNo('Only show the plan.'), confirm: CONFIRM },
  ['dry_run', 'confirm'],
)
export type ApplyForm = Static<typeof ApplyForm>

/** The settings of an API, of a form that its schema has validated. */
function settingsOf(sent: Partial<Static<ReturnType<typeof partialForm<typeof SETTINGS>>>>) {
  const { title, description, timeout_ms, concurrency, cache_seconds, headers, enabled } = sent
  return {
    ...(title !== undefined && { title: title.trim() }),
    ...(description !== undefined && { description: description.trim() }),
    ...(timeout_ms !== undefined && { timeoutMs: timeout_ms }),
    ...(concurrency !== undefined && { concurrency }),
    ...(cache_seconds !== undefined && { cacheSeconds: cache_seconds }),
    ...(headers && { headers }),
    ...(enabled !== undefined && { enabled }),
  }
}

export function apiForm(sent: CatalogEntry): ApiForm {
  return {
    name: sent.name,
    baseUrl: sent.base_url,
    auth: readable(parseAuth(sent.auth)),
    ...settingsOf(sent),
    operations: sent.operations.map(operationForm),
  }
}

export function apiChange(sent: ApiChange): CoreChange {
  const { base_url, auth, operations, remove_operations } = sent
  return {
    ...settingsOf(sent),
    ...(base_url !== undefined && { baseUrl: base_url }),
    ...(auth !== undefined && { auth: readable(parseAuth(auth)) }),
    ...(operations && { operations: operations.map(operationChange) }),
    ...(remove_operations && { without: remove_operations }),
  }
}

/** `fallback`: where the API is now, and how it authenticates. */
export function importForm(sent: ApiImport, fallback: Pick<ImportForm, 'auth' | 'baseUrl'>): ImportForm {
  const { name, base_url, auth, document, origin, only, price, prices } = sent
  return {
    name,
    document,
    ...settingsOf(sent),
    baseUrl: base_url ?? fallback.baseUrl,
    auth: auth === undefined ? fallback.auth : readable(parseAuth(auth)),
    ...(origin !== undefined && { origin }),
    ...(only && { only }),
    ...(price && { price: apiPriceOf(price) }),
    ...(prices && { prices: Object.fromEntries(Object.entries(prices).map(([id, one]) => [id, apiPriceOf(one)])) }),
  }
}

function apiRecord(api: Api): ApiRecord {
  const { name, title, description, enabled, concurrency, headers } = api
  return {
    name,
    base_url: api.baseUrl,
    auth: authText(api.auth),
    title,
    description,
    timeout_ms: api.timeoutMs,
    concurrency,
    cache_seconds: api.cacheSeconds,
    headers,
    enabled,
    operations: api.operations.map(operationRecord),
    created_at: isoTime(api.createdAt),
    updated_at: isoTime(api.updatedAt),
  }
}

/** An API with what its operator should know. */
export function oneApi(api: Api, notices: readonly string[], closings: readonly ApiClosing[]): OneApi {
  const closed = closings.map(({ operation, accountId, at }) => ({
    operation: operation.slice(api.name.length + 1),
    account: accountId,
    at: isoTime(at),
  }))
  return { api: apiRecord(api), notices: [...notices], closed }
}

export function apiSummary({
  name,
  title,
  baseUrl,
  auth,
  enabled,
  operations,
  updatedAt,
}: Api): ApiList['apis'][number] {
  return {
    name,
    title,
    base_url: baseUrl,
    auth: authText(auth),
    enabled,
    operations: operations.length,
    enabled_operations: enabled ? operations.filter((operation) => operation.enabled).length : 0,
    updated_at: isoTime(updatedAt),
  }
}

/** An API as a catalog file has it: what can be applied again. */
export function catalogEntry(api: Api): CatalogEntry {
  const { created_at: _c, updated_at: _u, operations, ...settings } = apiRecord(api)
  return {
    ...settings,
    operations: operations.map(({ name: _n, tool_name: _t, price_version: _p, ...operation }) => operation),
  }
}

export function trialRecord({ status, contentType, bytes, preview, units, held, cost, problem }: Trial): ApiTrial {
  return {
    status,
    content_type: contentType,
    bytes,
    preview,
    units,
    problem,
    held_usd: held === null ? null : formatUsd(held),
    cost_usd: cost === null ? null : formatUsd(cost),
  }
}

export function importPlanRecord(plan: CoreImportPlan, applied: boolean): ImportPlan {
  const { diff, isNew, refused, notices, confirm, api } = plan
  return { applied, is_new: isNew, ...diff, refused, notices, confirm, api: apiRecord(api) }
}

export function catalogPlanRecord({ apis, notices, confirm }: CorePlan, applied: boolean): CatalogPlan {
  return { applied, apis, notices, confirm }
}
