import { DEFAULT_GRACE_SECONDS, MAX_GRACE_SECONDS } from '../../core/accounts/keys'
import { OPERATIONS } from '../../core/catalogue/operations'
import { MAX_ALLOWED_IPS } from '../../core/credentials/allowlist'
import {
  instant,
  type JsonSchema,
  listOf,
  microsUsd,
  oneOf,
  orNull,
  record,
  ref,
  text,
  whole,
  yesOrNo,
} from '../openapi/json-schema'

const STATUSES = ['active', 'disabled', 'expired', 'exhausted', 'revoked']
const micros = { minimum: 0.000001, maximum: 1_000_000 }

const budget = orNull({
  ...record('A spending limit per period, in a time zone. Null: none.', {
    limit_usd: { type: 'number', description: 'US dollars per period, with at most 6 decimals.', ...micros },
    period: oneOf(['day', 'week', 'month'], 'The period.'),
    timezone: text('An IANA time zone.'),
  }),
  additionalProperties: false,
})

/** What an owner may set (core/accounts/key-form.ts judges it). */
const settings = {
  name: text('Your name for it; unique among your live keys.', { minLength: 1, maxLength: 64, pattern: '\\S' }),
  spending_limit: orNull({
    type: 'number',
    description: 'US dollars the key may spend in all, with at most 6 decimals; null is Unlimited. Nothing passes it.',
    ...micros,
  }),
  allowed_ips: {
    ...listOf(text('An IPv4 or IPv6 address, or a CIDR range.'), 'Where calls may come from. Empty: anywhere.'),
    maxItems: MAX_ALLOWED_IPS,
  },
  expires_at: orNull(instant('When it stops; null is never. In the future.')),
  allowed_endpoints: {
    ...listOf(oneOf(Object.keys(OPERATIONS), 'An operation.'), 'What it may call. Empty: everything.'),
    maxItems: 100,
  },
  allowed_models: {
    ...listOf(text('A model id.', { minLength: 1, maxLength: 200 }), 'Models it may call. Empty: all.'),
    maxItems: 100,
  },
  rpm_limit: orNull(whole("Requests per minute, at most the tier's; null is the tier's.", { minimum: 1 })),
  tpm_limit: orNull(whole("Tokens per minute, at most the tier's; null is the tier's.", { minimum: 1 })),
  budget,
}

const form = (description: string, properties: Readonly<Record<string, JsonSchema>>, required: readonly string[]) => ({
  type: 'object',
  description,
  properties,
  ...(required.length > 0 && { required }),
  additionalProperties: false,
})

/** API keys and accounts, as owners see and send them (spec 2.1, spec-answers 3). */
export const KEY_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  KeyRecord: record('An API key. Its secret is shown once, when it is made.', {
    id: text('Id of the key.'),
    name: text('Name its owner gave it.'),
    prefix: text('How its secret begins.'),
    last4: text('How its secret ends.'),
    status: oneOf(STATUSES, 'Computed from the facts below. `exhausted`: the spending limit is used up.'),
    spending_limit: orNull({ type: 'number', description: 'US dollars it may spend in all; null is Unlimited.' }),
    spent_micros_usd: microsUsd('Spent so far, with the keys it replaces.', { minimum: 0 }),
    remaining_micros_usd: orNull(microsUsd('Left of its limit; null without one.', { minimum: 0 })),
    allowed_ips: settings.allowed_ips,
    expires_at: orNull(instant('When it stops; null is never.')),
    created_at: instant('Made at.'),
    last_used_at: orNull(instant('Last used at; null is never.')),
    stops_at: orNull(instant('When a replaced key stops by itself.')),
    budget,
    budget_window: orNull(
      record('The period of the budget that runs now; null without a budget.', {
        spent_micros_usd: microsUsd('Spent in it.', { minimum: 0 }),
        remaining_micros_usd: microsUsd('Left of it.', { minimum: 0 }),
        starts_at: instant('Its first moment.'),
        ends_at: instant('The first moment of the next.'),
      }),
    ),
    allowed_endpoints: settings.allowed_endpoints,
    allowed_models: settings.allowed_models,
    rpm_limit: settings.rpm_limit,
    tpm_limit: settings.tpm_limit,
    replaces: orNull(text('Id of the key it replaces.')),
    replaced_by: orNull(text('Id of the key that replaces it.')),
  }),
  OneKey: record('A key.', { key: ref('KeyRecord') }),
  KeyWithSecret: record('A key that was just made.', {
    key: ref('KeyRecord'),
    secret: text('The key itself. Keep it now: it is never shown again.', { pattern: '^gwk_[0-9A-Za-z]{49}$' }),
  }),
  KeyPage: record('A page of keys.', {
    keys: listOf(ref('KeyRecord'), 'The keys.'),
    counts: record(
      'How many keys there are of each status.',
      Object.fromEntries(STATUSES.map((status) => [status, whole(`Keys that are ${status}.`, { minimum: 0 })])),
    ),
    next_cursor: orNull(text('Ask for the next page with it as `cursor`; null on the last page.')),
  }),
  KeyNames: record('Names of keys and apps.', {
    names: listOf(
      record('One key, or one app that was let in.', {
        id: text('Its id, `key_...` or `conn_...`, as reports have it.'),
        kind: oneOf(['key', 'app'], 'Which of the two.'),
        name: text('Its name; of an app what it called itself.'),
        last4: orNull(text('How the secret of a key ends.')),
        revoked: yesOrNo('Whether it is over for good: revoked, or disconnected.'),
      }),
      'Every one that ever was.',
    ),
  }),
  KeyHistory: record('A page of what was done to a key, newest first.', {
    history: listOf(
      record('One change.', {
        id: text('Id of the change.'),
        at: instant('When.'),
        action: text('What: create, change, rotate, disable, enable or revoke.'),
        by: oneOf(['owner', 'operator', 'system'], 'Who.'),
        ip: orNull(text('The address it came from.')),
        settings: listOf(text('A setting.'), 'Which settings it set.'),
        successor: orNull(text('Id of the key that a rotation made.')),
      }),
      'The changes.',
    ),
    next_cursor: orNull(text('Ask for the next page with it as `cursor`; null on the last page.')),
  }),
  NewKey: form('A key to make.', settings, ['name']),
  KeyChange: form(
    'What to change; the rest stays.',
    { ...settings, stops_at: instant('When a key that was replaced stops. A time in the past is now.') },
    [],
  ),
  Rotation: form(
    'How long the old key goes on working.',
    {
      grace_period_seconds: whole('Seconds; 0 for a key that leaked.', {
        minimum: 0,
        maximum: MAX_GRACE_SECONDS,
        default: DEFAULT_GRACE_SECONDS,
      }),
    },
    [],
  ),
  Account: record('The account of the owner who is signed in.', {
    id: text('Id of the account.'),
    email: text("The owner's e-mail address."),
    name: text("The owner's name."),
    operator: yesOrNo('Whether the owner operates this gateway.'),
    tier: oneOf(['free', 'starter', 'growth', 'enterprise'], 'The tier that sets the limits.'),
    balance_micros_usd: microsUsd('The balance.'),
    held_micros_usd: microsUsd('Of it, held by calls under way.', { minimum: 0 }),
    credit_micros_usd: microsUsd('Of the balance, signup credit and grants. Spent first.'),
    topped_up_micros_usd: microsUsd('Paid in so far.', { minimum: 0 }),
    created_at: instant('Opened at.'),
    ip: orNull(text('The address that this request came from, as an IP allowlist would see it.')),
  }),
  Limits: record('Limits of the account, and live readings of each key.', {
    tier: oneOf(['free', 'starter', 'growth', 'enterprise'], 'The tier.'),
    limits: record("The tier's numbers, per key.", {
      requests_per_minute: whole('Requests per minute.'),
      tokens_per_minute: whole('Tokens per minute.'),
      concurrency: whole('Streaming and long-running requests at once.'),
    }),
    keys: listOf(
      record('One key.', {
        id: text('Id of the key.'),
        name: text('Its name.'),
        requests: ref('Reading'),
        tokens: ref('Reading'),
        concurrency: record('Requests under way.', { limit: whole('The cap.'), remaining: whole('Left.') }),
      }),
      'Every key that is not revoked.',
    ),
  }),
  Reading: record('A counter of this minute.', {
    limit: whole('The cap.'),
    remaining: whole('Left.'),
    reset: whole('UNIX time in seconds at which it starts anew.'),
  }),
}
