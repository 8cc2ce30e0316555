import type { Static } from '@sinclair/typebox'
import type { PriceName } from '../../core/catalog/operation'
import { isImportedName, PRICE_NAMES } from '../../core/catalog/operations'
import { ALL_MODELS, overriddenModel, type PriceOverride } from '../../core/catalog/prices'
import { isoTime } from '../../core/clock'
import { TIERS } from '../../core/limits/tier'
import { formatUsd, parseUsd } from '../../core/money'
import type { Listing } from '../../core/payments/publication'
import type { UpstreamState } from '../../pipeline/models/model-backend'
import { LimitRequestRecord } from '../account/limit-request-record'
import {
  checked,
  form,
  instant,
  line,
  listOf,
  named,
  nextCursor,
  oneOf,
  orNull,
  partialForm,
  prose,
  record,
  text,
  whole,
  yesOrNo,
} from '../openapi/json-schema'

export const MAX_LINE = 200
const MAX_REASON = 1000

export const LIMITS = {
  rpm: whole('Requests per minute and key.', { minimum: 1 }),
  tpm: whole('Tokens per minute and key.', { minimum: 1 }),
  concurrency: whole('Concurrent requests per key.', { minimum: 1 }),
}
const NewLimits = form('Custom limits, which make an account Enterprise.', LIMITS)

export const REASON = prose('The reason. Visible to the owner of the account.', MAX_REASON)
const OPERATION = checked<PriceName>(
  {
    type: 'string',
    description:
      'The operation, one of its input-dependent prices, or an operation of an imported API such as weather.forecast.',
  },
  (value) =>
    typeof value === 'string' && (PRICE_NAMES.some((name) => name === value) || isImportedName(value))
      ? null
      : `must be one of ${PRICE_NAMES.join(', ')}, or an operation of an imported API such as weather.forecast`,
)
export const NewGrant = form(
  'Credit to add.',
  {
    usd: amount('The credit in US dollars, such as "25" or "0.5".', 1),
    note: line('What it is for. Visible to the owner. Default: Grant.', MAX_LINE),
    reference: line('Your own reference, which is never booked twice. Default: a new one.', MAX_LINE),
  },
  ['note', 'reference'],
)
export type NewGrant = Static<typeof NewGrant>

export const LimitsChange = form('The custom limits of an account.', {
  limits: orNull(NewLimits, 'the limits of the tier'),
})
export type LimitsChange = Static<typeof LimitsChange>

export const MaxKeysForm = form('The maximum number of live keys.', {
  keys: orNull(whole('The maximum.', { minimum: 1 }), 'the default maximum'),
})
export type MaxKeysForm = Static<typeof MaxKeysForm>
export const NewPrice = form(
  'A price of a unit of an operation.',
  {
    operation: OPERATION,
    usd: orNull(amount('The price in US dollars, such as "0.005".', 0), 'the default price'),
    account: text('Id or confirmed email address of the account it applies to. Without it: everyone.'),
  },
  ['account'],
)
export type NewPrice = Static<typeof NewPrice>

export const Approval = partialForm('The limits to grant.', {
  reason: orNull(REASON, 'no reason'),
  limits: orNull(NewLimits, 'the limits of Growth'),
})
export type Approval = Static<typeof Approval>
export const Decline = form('The reason to decline.', { reason: REASON })
export type Decline = Static<typeof Decline>
/** For commands without parameters. */
export const NoBody = form('Nothing.', {})

export const STAFF_ROLE = oneOf(
  ['operator', 'support'],
  '`operator`: everything. `support`: sees and suspends accounts; no money, no prices, no secrets.',
)

export const OperatorAccount = named(
  'OperatorAccount',
  record('An account as operators see it.', {
    id: text('Id of the account.'),
    email: orNull(text("The owner's email address; null once the account is closed.")),
    name: orNull(text("The owner's name; null once the account is closed.")),
    operator: yesOrNo('Whether the account is an operator.'),
    role: orNull(STAFF_ROLE, 'a customer'),
    suspension: orNull(
      record('Since when and why it is suspended.', {
        since: instant('Since when.'),
        reason: text('The reason, as its owner reads it.'),
      }),
      'not suspended',
    ),
    tier: oneOf(TIERS, 'The tier that sets the limits.'),
    limits: record('The limits of each of its keys.', LIMITS),
    most_keys: whole('The maximum number of live keys.', { minimum: 1 }),
    balance_usd: text('The balance in US dollars.'),
    created_at: instant('When it was created.'),
  }),
)
export type OperatorAccount = Static<typeof OperatorAccount>

export const OneOperatorAccount = record('The account.', { account: OperatorAccount })
export type OneOperatorAccount = Static<typeof OneOperatorAccount>

export const OperatorAccountPage = record('A page of accounts, newest first.', {
  accounts: listOf(OperatorAccount, 'The accounts.'),
  next_cursor: nextCursor(),
})
export type OperatorAccountPage = Static<typeof OperatorAccountPage>

export const OperatorPrice = named(
  'OperatorPrice',
  record('A price that an operator set.', {
    operation: OPERATION,
    account: orNull(text('Id of the account it applies to; null is everyone.')),
    usd: orNull(text('US dollars per unit; null restores the default price.')),
    version: text('The price version, recorded with every charge at this price.'),
    at: instant('When it was set.'),
  }),
)
export type OperatorPrice = Static<typeof OperatorPrice>

export const SetOperatorPrice = record('A price that was just set, and what applies now.', {
  ...OperatorPrice.properties,
  now_usd: orNull(
    text('US dollars per unit that apply now; null for an imported operation that is not on sale or has no amount.'),
  ),
})
export type SetOperatorPrice = Static<typeof SetOperatorPrice>

const PERCENT = checked<number>(
  {
    type: 'number',
    minimum: 0,
    maximum: 1000,
    description: 'Percent of the list price, with at most 2 decimals: 80 is a discount of 20 percent.',
  },
  (value) =>
    typeof value === 'number' && value >= 0 && value <= 1000 && Number((value * 100).toFixed(6)) % 1 === 0
      ? null
      : 'must be a number from 0 to 1000 with at most 2 decimals',
)

export const NewModelPrice = form(
  'What an account pays of the list price of models.',
  {
    account: text('Id or confirmed email address of the account.'),
    model: text('The id of the model. Without it: all models that have no price of their own for the account.', {
      maxLength: 128,
    }),
    percent: orNull(PERCENT, 'the list price'),
  },
  ['model'],
)
export type NewModelPrice = Static<typeof NewModelPrice>

export const ModelPrice = record('What an account pays of the list price of models.', {
  account: text('Id of the account.'),
  model: orNull(text('The model.'), 'all models that have no price of their own for the account'),
  percent: orNull(PERCENT, 'the list price'),
  version: text('Part of the price version of every charge at this price.'),
  at: instant('When it was set.'),
})
export type ModelPrice = Static<typeof ModelPrice>

export const OperatorPrices = record('The prices of the catalog, and those that operators set.', {
  catalogue: listOf(
    record('A price.', { operation: OPERATION, usd: text('US dollars per unit.') }),
    'The default prices.',
  ),
  prices: listOf(OperatorPrice, 'The prices that operators set.'),
  models: listOf(ModelPrice, 'What accounts pay of the list prices of models.'),
})
export type OperatorPrices = Static<typeof OperatorPrices>

export const OperatorLimitRequest = named(
  'OperatorLimitRequest',
  record('A request for higher limits as operators see it.', {
    ...LimitRequestRecord.properties,
    email: orNull(text('The email address of the owner who asked; null once the account is closed.')),
  }),
)
export type OperatorLimitRequest = Static<typeof OperatorLimitRequest>

export const OneOperatorLimitRequest = record('The request.', { request: OperatorLimitRequest })
export type OneOperatorLimitRequest = Static<typeof OneOperatorLimitRequest>

export const OperatorLimitRequestPage = record('A page of requests for higher limits.', {
  requests: listOf(OperatorLimitRequest, 'The requests, newest first.'),
  next_cursor: nextCursor(),
})
export type OperatorLimitRequestPage = Static<typeof OperatorLimitRequestPage>

export const ResetLink = record('A link to set a new password.', {
  email: text('The email address of the account.'),
  link: text('The link. It works once, within an hour.'),
})
export type ResetLink = Static<typeof ResetLink>

export const SecondFactorReset = record('The result.', {
  email: text('The email address of the account.'),
  reset: yesOrNo('Always true.'),
})
export type SecondFactorReset = Static<typeof SecondFactorReset>

const Upstream = record('A model upstream.', {
  name: text('Its name in the models file.'),
  models: listOf(text('A model id.'), 'The models it serves.'),
  breaker: oneOf(
    ['closed', 'open', 'probing'],
    '`closed`: healthy. `open`: it failed repeatedly and gets no calls. `probing`: one call is testing whether it has recovered.',
  ),
  failures: whole('Consecutive failures.', { minimum: 0 }),
  failing_since: orNull(instant('When the first of them occurred.')),
  next_try_at: orNull(instant('When it will be tested again; null while it gets calls.')),
  under_way: whole('Calls in progress.', { minimum: 0 }),
  last_refusal: orNull(
    record('What it said.', {
      at: instant('When.'),
      status: whole('The status of its answer.'),
      words: text('Its first 300 characters, without secrets.'),
    }),
    'it refused no call that was not to blame itself',
  ),
})
export type Upstream = Static<typeof Upstream>

export const UpstreamList = record('The model upstreams.', { upstreams: listOf(Upstream, 'The upstreams.') })
export type UpstreamList = Static<typeof UpstreamList>

const WorkerRecord = record('A process that serves calls of this gateway.', {
  name: text('Its name.'),
  instance: text('Another one for each start of a process.'),
  pid: orNull(whole('Its process, on its machine; null until its first report.', { minimum: 1 })),
  version: orNull(text('The version that it runs.')),
  cpu_percent: orNull(whole('CPU in the last second, in percent of one core.', { minimum: 0 })),
  connected: yesOrNo('Whether it has a connection. Without one it serves nothing new.'),
  since: instant('When it came.'),
  open_calls: whole('Calls that it serves now.', { minimum: 0 }),
  lag_ms: whole('Since the gateway heard of it. It says something each second.', { minimum: 0 }),
})
export type WorkerRecord = Static<typeof WorkerRecord>

export const WorkerList = record('The workers; empty if this process serves all calls.', {
  workers: listOf(WorkerRecord, 'The workers.'),
})
export type WorkerList = Static<typeof WorkerList>

export const NewWorker = form('A worker of another machine.', { name: text('Its name.', { maxLength: 64 }) })
export type NewWorker = Static<typeof NewWorker>

/** The credentials of workers of other machines. */
export interface WorkerCredentialList {
  readonly credentials: readonly { readonly name: string; readonly created_at: string }[]
}

/** An amount of at least `leastMicros`, as text: exact, with at most 6 decimals. */
export function amount(description: string, leastMicros: number) {
  const more = leastMicros > 0 ? ' above 0' : ''
  return checked<string>({ type: 'string', description, pattern: '^\\d{1,10}(\\.\\d{1,6})?$' }, (value) => {
    const micros = typeof value === 'string' ? parseUsd(value) : null
    return micros !== null && micros >= leastMicros ? null : `must be a string such as "25" or "0.005"${more}`
  })
}

export function priceRecord({ id, operation, accountId, amount: price, at }: PriceOverride): OperatorPrice {
  return {
    operation: operation as PriceName,
    account: accountId,
    usd: price === null ? null : formatUsd(price),
    version: id,
    at: isoTime(at),
  }
}

export function modelPriceRecord(override: PriceOverride): ModelPrice {
  const { id, accountId, basisPoints = null, at } = override
  const model = overriddenModel(override)
  return {
    account: accountId ?? '',
    model: model === ALL_MODELS ? null : model,
    percent: basisPoints === null ? null : basisPoints / 100,
    version: id,
    at: isoTime(at),
  }
}

export function upstreamRecord(state: UpstreamState): Upstream {
  const time = (at: number | null) => (at === null ? null : isoTime(at))
  return {
    name: state.name,
    models: state.models,
    breaker: state.breaker,
    failures: state.failures,
    failing_since: time(state.failingSince),
    next_try_at: time(state.nextTryAt),
    under_way: state.underWay,
    last_refusal: state.lastRefusal ? { ...state.lastRefusal, at: isoTime(state.lastRefusal.at) } : null,
  }
}

/** The listings of this gateway in directories. */
export interface Publication {
  readonly directories: readonly Listing[]
  /** For the MCP registry. */
  readonly server_json: unknown
}
