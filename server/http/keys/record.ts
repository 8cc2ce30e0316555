import type { Static } from '@sinclair/typebox'
import type { AppGrantStore } from '../../core/accounts/app-grant'
import { parseInstant } from '../../core/accounts/instant'
import type { KeyForm, NewKeyForm } from '../../core/accounts/key-form'
import { DEFAULT_GRACE_SECONDS, MAX_GRACE_SECONDS } from '../../core/accounts/keys'
import { invalidParameter, type Submitted } from '../../core/accounts/submitted'
import type { SoldName } from '../../core/catalog/operation'
import { isSold, SOLD } from '../../core/catalog/operations'
import { isoTime } from '../../core/clock'
import { Allowlist } from '../../core/credentials/allowlist'
import { type ApiKey, KEY_SIZES, KEY_STATUSES, keyStatus } from '../../core/credentials/api-key'
import type { CredentialStore } from '../../core/credentials/store'
import type { Ledger } from '../../core/ledger/ledger'
import { MAX_KEYS } from '../../core/limits/tier'
import { fromUsdNumber, toUsdNumber } from '../../core/money'
import { isPlainLine, PLAIN_LINE_RULE } from '../../core/plain-text'
import { readable, validateBody } from '../middleware/input/validate-body'
import {
  checked,
  form,
  identifier,
  instant,
  line,
  listOf,
  microsUsd,
  named,
  nextCursor,
  oneOf,
  orNull,
  partialForm,
  prose,
  record,
  text,
  usd,
  whole,
  withRule,
  yesOrNo,
} from '../openapi/json-schema'
import {
  BUDGET,
  BUDGET_WINDOWS,
  BUDGETS,
  budgetsOf,
  budgetsRecord,
  ONLY_WINDOW,
  SCOPE_BUDGET,
  windowRecord,
} from './budget-record'

/** The name of an API, a dot, the id of an operation. */
export const MAX_SOLD_NAME = 105
const SOLD_NAME = checked<SoldName>(
  {
    type: 'string',
    description: 'A built-in operation, or `{api}.{operation}` of the catalog.',
    maxLength: MAX_SOLD_NAME,
  },
  (value) => (typeof value === 'string' && isSold(value) ? null : 'must be an operation'),
)

const TAG = checked<string>(
  { type: 'string', description: 'A tag.', minLength: 1, maxLength: KEY_SIZES.tag, pattern: '^[^,]*$' },
  (value) => {
    const tag = typeof value === 'string' ? tagOf(value) : ''
    const isTag = tag !== '' && [...tag].length <= KEY_SIZES.tag && isPlainLine(tag) && !tag.includes(',')
    return isTag ? null : 'must be a tag'
  },
)

/** The settings of a key, both in requests and in responses. */
const SETTINGS = {
  name: line('A name; unique among your keys that are not revoked.', KEY_SIZES.name),
  spending_limit: orNull(
    usd(
      'Total US dollars the key may spend, with at most 6 decimals; null means unlimited. The key stops at this amount.',
    ),
    'no limit',
  ),
  allowed_ips: checked<readonly string[]>(
    {
      ...listOf(
        text('An IPv4 or IPv6 address, or a CIDR range.'),
        'The addresses calls may come from. If empty, any address is allowed.',
      ),
      maxItems: KEY_SIZES.allowedIps,
    },
    brokenAllowlist,
  ),
  expires_at: orNull(instant('When it expires, in the future; null means never.'), 'never'),
  allowed_endpoints: withRule(
    `must be a list of any of ${SOLD.join(', ')}, or operations of the catalog such as weather.forecast`,
    listOf(SOLD_NAME, 'The operations it may call. If empty, all are allowed.', {
      maxItems: KEY_SIZES.endpoints,
    }),
  ),
  allowed_models: withRule(
    `must be a list of at most ${KEY_SIZES.models} model ids`,
    listOf(line('A model id.', 200), 'The models it may call. If empty, all are allowed.', {
      maxItems: KEY_SIZES.models,
    }),
  ),
  rpm_limit: orNull(
    whole("Requests per minute, at most the tier's limit; null means the tier's limit.", { minimum: 1 }),
  ),
  tpm_limit: orNull(whole("Tokens per minute, at most the tier's limit; null means the tier's limit.", { minimum: 1 })),
  note: orNull(prose('A note, such as who uses the key. Visible only to you.', KEY_SIZES.note), 'no note'),
  tags: withRule(
    `must be a list of at most ${KEY_SIZES.tags} tags of 1 to ${KEY_SIZES.tag} characters without commas, and ${PLAIN_LINE_RULE}`,
    listOf(TAG, 'Words to find keys and to add up their usage by, such as `production`.', { maxItems: KEY_SIZES.tags }),
  ),
  pinned_operations: withRule(
    `must be a list of at most ${KEY_SIZES.pinnedOperations} operations of the catalog such as weather.forecast`,
    listOf(
      SOLD_NAME,
      'Operations of APIs that `/mcp` offers as a tool each, also where there are too many for one tool each.',
      { maxItems: KEY_SIZES.pinnedOperations },
    ),
  ),
  budget: orNull({
    ...BUDGET,
    description: 'The only budget, or the shortest of several; null means none. Send this or `budgets`.',
  }),
  budgets: BUDGETS,
  scope_budget: orNull(SCOPE_BUDGET, 'scopes are counted, and not limited'),
}

export const KEY_SETTINGS = Object.keys(SETTINGS) as readonly (keyof typeof SETTINGS)[]

const { name, ...OPTIONAL_SETTINGS } = SETTINGS

export const NewKey = named(
  'NewKey',
  form('A key to create.', SETTINGS, Object.keys(OPTIONAL_SETTINGS) as (keyof typeof OPTIONAL_SETTINGS)[]),
)
export type NewKey = Static<typeof NewKey>

export const KeyChange = named(
  'KeyChange',
  partialForm('The settings to change. The others stay unchanged.', {
    ...SETTINGS,
    stops_at: instant('When a rotated key stops. A time in the past stops it immediately.'),
  }),
)
export type KeyChange = Static<typeof KeyChange>

export const Rotation = named(
  'Rotation',
  partialForm('How long the old key keeps working.', {
    grace_period_seconds: whole(`Seconds. Use 0 for a leaked key. Default: ${DEFAULT_GRACE_SECONDS}.`, {
      minimum: 0,
      maximum: MAX_GRACE_SECONDS,
    }),
  }),
)

/** An API key as owners see it (spec 2.1, spec D3). */
export const KeyRecord = named(
  'KeyRecord',
  record(
    'An API key. Its secret is shown once, when it is created.',
    {
      id: identifier('key', 'Id of the key.'),
      prefix: text('The first characters of its secret.'),
      last4: text('The last four characters of its secret.'),
      status: oneOf(KEY_STATUSES, 'The status. `exhausted` means that the spending limit is used up.'),
      ...SETTINGS,
      spent_micros_usd: microsUsd('Spent so far, including the keys it replaces.', { minimum: 0 }),
      remaining_micros_usd: orNull(
        microsUsd(
          'What is left of its limit, or of that of the app that created it, whichever is less; null without a limit.',
          { minimum: 0 },
        ),
      ),
      created_at: instant('When it was created.'),
      created_by: orNull(
        record('The connected app that created or rotated it; null if you did.', {
          id: text('Id of the app, as in `GET /api/keys/names`.'),
          name: text('The name that it registered with.'),
        }),
      ),
      last_used_at: orNull(instant('When it was last used; null means never.')),
      stops_at: orNull(instant('When a rotated key stops working.')),
      budget_window: ONLY_WINDOW,
      budget_windows: BUDGET_WINDOWS,
      replaces: orNull(text('Id of the key it replaces.')),
      replaced_by: orNull(text('Id of the key that replaces it.')),
      made_by: orNull(
        record(
          "The member whose key it is; null if it is the workspace's, or its member has left. Only in reads by members who see the others.",
          {
            id: text('Id of the member.'),
            name: text('The name of the member.'),
          },
        ),
      ),
    },
    ['made_by'],
  ),
)
export type KeyRecord = Static<typeof KeyRecord>

export const OneKey = named('OneKey', record('A key.', { key: KeyRecord }))
export type OneKey = Static<typeof OneKey>

export const KeyWithSecret = named(
  'KeyWithSecret',
  record('A key that was just created.', {
    key: KeyRecord,
    secret: text('The secret key. Store it now: it is never shown again.', { pattern: '^gwk_[0-9A-Za-z]{49}$' }),
  }),
)
export type KeyWithSecret = Static<typeof KeyWithSecret>

export const KeysToDisable = named(
  'KeysToDisable',
  form('The keys to disable.', {
    ids: listOf(text('Id of a key.', { maxLength: 64 }), 'Ids of keys.', { minItems: 1, maxItems: MAX_KEYS }),
  }),
)

export const DisabledKeys = named(
  'DisabledKeys',
  record('The result for each key.', {
    results: listOf(
      record('One key.', {
        id: identifier('key', 'Its id.'),
        disabled: yesOrNo('Whether it is disabled now.'),
        error: orNull(record('Why it is not.', { code: text('An error code.'), message: text('The reason.') })),
      }),
      'One entry per id that was sent.',
    ),
  }),
)
export type DisabledKeys = Static<typeof DisabledKeys>

const keysWithStatus = (status: string) => whole(`Keys that are ${status}.`, { minimum: 0 })

export const KeyPage = named(
  'KeyPage',
  record('A page of keys.', {
    keys: listOf(KeyRecord, 'The keys.'),
    counts: record('How many keys that match the search have each status. At most 10,000 revoked ones are counted.', {
      active: keysWithStatus('active'),
      disabled: keysWithStatus('disabled'),
      expired: keysWithStatus('expired'),
      exhausted: keysWithStatus('exhausted'),
      revoked: keysWithStatus('revoked'),
    }),
    tags: listOf(
      record('One tag.', { name: text('The tag.'), keys: whole('How many keys have it.', { minimum: 1 }) }),
      'The tags of all your keys that are not revoked, by name. Of more than 200, those that most keys have.',
    ),
    next_cursor: nextCursor(),
  }),
)
export type KeyPage = Static<typeof KeyPage>

export interface KeyRecordParts {
  readonly credentials: CredentialStore
  readonly ledger: Ledger
  readonly apps: Pick<AppGrantStore, 'byId'>
}

/** A key as owners see it, with what it has spent. */
export async function keyRecord(key: ApiKey, parts: KeyRecordParts & { readonly now: number }): Promise<KeyRecord> {
  const [pool, stored, ofScope, lastUsedAt, app] = await Promise.all([
    parts.ledger.pool(key.poolId),
    parts.credentials.budgetsOf(key.poolId),
    parts.credentials.scopeBudgetOf(key.poolId),
    parts.credentials.lastUsedAt(key.id),
    key.createdBy && parts.apps.byId(key.createdBy),
  ])
  if (!pool) throw new Error(`key ${key.id} has no spend pool`)
  const { limit, spent } = pool
  const { budgets, budget_windows } = budgetsRecord({ budgets: stored, windows: pool.windows }, parts.now)
  const [window] = pool.windows
  return {
    id: key.id,
    name: key.name,
    prefix: key.prefix,
    last4: key.last4,
    status: keyStatus(key, pool, parts.now),
    spending_limit: limit === null ? null : toUsdNumber(limit),
    spent_micros_usd: spent,
    remaining_micros_usd: pool.remaining,
    allowed_ips: key.allowedIps,
    expires_at: isoOf(key.expiresAt),
    created_at: isoTime(key.createdAt),
    created_by: app && { id: app.id, name: app.name },
    last_used_at: isoOf(lastUsedAt),
    stops_at: isoOf(key.stopsAt),
    budget: budgets[0] ?? null,
    budgets,
    budget_window: window ? windowRecord(window) : null,
    scope_budget: ofScope && { limit_usd: ofScope.limitUsd, period: ofScope.period },
    budget_windows,
    allowed_endpoints: key.allowedEndpoints,
    allowed_models: key.allowedModels,
    rpm_limit: key.rpmLimit,
    tpm_limit: key.tpmLimit,
    note: key.note,
    tags: key.tags,
    pinned_operations: key.pinnedOperations,
    replaces: key.replaces,
    replaced_by: key.replacedBy,
  }
}

/** The body of a request to create a key, as core takes it. */
export function newKeyForm(body: unknown): Submitted<NewKeyForm> {
  const sent = withOneBudget(validateBody(NewKey, body))
  return sent.isWhole
    ? { ...sent, form: { ...keyFormOf(sent.form), name: sent.form.name.trim() } }
    : { ...sent, form: keyFormOf(sent.form) }
}

/** The body of a request to change a key, as core takes it. */
export function keyChangeForm(body: unknown): Submitted<KeyForm> {
  const sent = withOneBudget(validateBody(KeyChange, body))
  return { ...sent, form: keyFormOf(sent.form) }
}

/** Refuses two answers to one question. A record that is sent back as it was has both, which agree. */
function withOneBudget<T extends KeyChange>(sent: Submitted<T>): Submitted<T> {
  const { budget, budgets } = sent.form
  if (budget === undefined || budgets === undefined) return sent
  const [first = null] = budgets
  if (Bun.deepEquals(budget, first)) return sent
  const both = invalidParameter('budget', 'must not differ from the first of budgets. Send one of them', budget)
  return { isWhole: false, form: sent.form, errors: [...sent.errors, both] }
}

/** The valid settings that were sent, in the types of core. */
function keyFormOf(sent: KeyChange): KeyForm {
  const { name, spending_limit, allowed_ips, expires_at, allowed_endpoints, allowed_models, stops_at, scope_budget } =
    sent
  const budgets = sent.budgets ?? (sent.budget === null ? [] : sent.budget && [sent.budget])
  return {
    ...(name !== undefined && { name: name.trim() }),
    ...(spending_limit !== undefined && {
      spendingLimit: spending_limit === null ? null : readable(fromUsdNumber(spending_limit)),
    }),
    ...(allowed_ips && { allowedIps: [...new Set(allowed_ips.map(canonicalIp))] }),
    ...(expires_at !== undefined && { expiresAt: expires_at === null ? null : readable(parseInstant(expires_at)) }),
    ...(allowed_endpoints && { allowedEndpoints: [...new Set(allowed_endpoints)] }),
    ...(allowed_models && { allowedModels: [...new Set(allowed_models)] }),
    ...(sent.rpm_limit !== undefined && { rpmLimit: sent.rpm_limit }),
    ...(sent.tpm_limit !== undefined && { tpmLimit: sent.tpm_limit }),
    ...(sent.note !== undefined && { note: sent.note === null ? null : sent.note.trim() }),
    ...(sent.tags && { tags: [...new Set(sent.tags.map(tagOf))] }),
    ...(sent.pinned_operations && { pinnedOperations: [...new Set(sent.pinned_operations)] }),
    ...(budgets && { budgets: budgetsOf(budgets) }),
    ...(scope_budget !== undefined && {
      scopeBudget: scope_budget && { limitUsd: scope_budget.limit_usd, period: scope_budget.period },
    }),
    ...(stops_at !== undefined && { stopsAt: readable(parseInstant(stops_at)) }),
  }
}

function brokenAllowlist(value: unknown): string | null {
  const isList =
    Array.isArray(value) && value.length <= KEY_SIZES.allowedIps && value.every((one) => typeof one === 'string')
  if (!isList) return `must be a list of at most ${KEY_SIZES.allowedIps} addresses or CIDR ranges`
  const parsed = Allowlist.parse(value.map(canonicalIp))
  return parsed.ok ? null : `entry ${JSON.stringify(parsed.error.entry.slice(0, 60))} ${parsed.error.rule}`
}

/** A tag as it is stored and compared: one that is typed in another normal form looks the same. */
export function tagOf(typed: string): string {
  return typed.trim().normalize('NFC')
}

function canonicalIp(entry: string): string {
  return entry.trim().toLowerCase()
}

function isoOf(at: number | null): string | null {
  return at === null ? null : isoTime(at)
}
