import type { AccountSettingsStore } from '../../core/accounts/account-settings'
import type { AppGrantStore } from '../../core/accounts/app-grant'
import type { Identity } from '../../core/accounts/identity'
import type { PoolBudgets } from '../../core/accounts/pool-budgets'
import type { LimitRequestStore } from '../../core/accounts/staff/limit-request'
import type { AuditTrail } from '../../core/audit'
import { isoTime } from '../../core/clock'
import { keysOfApps } from '../../core/credentials/key-lists'
import type { OAuthGrants } from '../../core/credentials/oauth-grant'
import type { CredentialStore } from '../../core/credentials/store'
import type { AccountId } from '../../core/ids'
import type { AccountStatements } from '../../core/ledger/account-statement'
import type { Ledger } from '../../core/ledger/ledger'
import type { Page } from '../../core/page'
import type { UsageReports } from '../../core/usage/reports'
import type { NoticeMailStore } from '../../core/webhooks/notice-mails'
import type { Webhooks } from '../../core/webhooks/webhooks'
import { historyEntry } from '../keys/key-history'
import { keyRecord } from '../keys/record'
import type { Owner } from '../middleware/caller/owner-session'
import type { RequestContext } from '../middleware/request-context'
import { paced, pulled } from '../middleware/response/csv'
import { type Social, type SocialAccount, socialRecords } from '../social/record'
import { wireCall, wireTransaction } from '../usage/usage-report'
import { webhookRecord } from '../webhooks/record'
import { accountBudgets } from './account-budgets-record'
import { connectedApp } from './app-record'
import { limitRequestRecord } from './limit-request-record'
import { sessionDetails } from './settings-record'

export interface ExportParts {
  readonly credentials: CredentialStore
  readonly ledger: Ledger
  readonly poolBudgets: Pick<PoolBudgets, 'of'>
  readonly identity: Identity
  readonly grants: OAuthGrants
  readonly apps: AppGrantStore
  readonly webhooks: Webhooks
  readonly noticeMails: NoticeMailStore
  /** Null without a social network. */
  readonly social: Social | null
  readonly settings: AccountSettingsStore
  readonly limitRequests: Pick<LimitRequestStore, 'list'>
  readonly audit: AuditTrail
  readonly statements: AccountStatements
  readonly reports: UsageReports
  readonly now: () => number
}

const PAGE = 200
const SOCIAL_PAGE = 100

/** For operators, who are few. */
const UNPACED: Pick<RequestContext, 'pace' | 'allowSilence' | 'awaitReader'> = {
  pace: async () => undefined,
  allowSilence: () => undefined,
  awaitReader: () => undefined,
}

/** Whose data is exported. */
type Subject = Pick<Owner, 'accountId' | 'account' | 'email' | 'name'>

/**
 * All data about an owner as one JSON object, streamed page by page. It contains no secrets: of keys only hashes are stored, and
 * records leave sealed ones out.
 */
export function accountExport(
  parts: ExportParts,
  owner: Subject,
  context: typeof UNPACED = UNPACED,
): ReadableStream<Uint8Array> {
  return pulled(context, exported(parts, owner, context))
}

/** An export as a file to download. */
export function exportResponse(body: ReadableStream<Uint8Array>): Response {
  return new Response(body, {
    headers: {
      'content-type': 'application/json',
      'content-disposition': 'attachment; filename="gateway-account.json"',
      'cache-control': 'no-store',
    },
  })
}

async function* exported(
  parts: ExportParts,
  owner: Subject,
  context: Pick<RequestContext, 'pace'>,
): AsyncGenerator<string, void> {
  const { accountId, account, email, name } = owner
  const { credentials, ledger, reports, statements, audit, limitRequests } = parts
  const balance = await ledger.balance(accountId)
  const { timezone, savedViews, alerts } = await parts.settings.of(accountId)
  const head = {
    exported_at: isoTime(parts.now()),
    account: {
      id: accountId,
      email,
      name,
      operator: account.operator,
      created_at: isoTime(account.createdAt),
      balance_micros_usd: balance?.posted ?? 0,
      timezone,
      saved_views: savedViews,
      alerts,
      ...(await accountBudgets(parts.poolBudgets, accountId, parts.now())),
    },
  }
  yield JSON.stringify(head).slice(0, -1)
  const allKeys = { among: 'all', sort: 'created', order: 'desc' } as const
  yield* list(
    'keys',
    async (after) => {
      const page = await credentials.lists.page(accountId, allKeys, parts.now(), { limit: PAGE, after })
      const records = (page?.rows ?? []).map((key) => keyRecord(key, { ...parts, now: parts.now() }))
      return { rows: await Promise.all(records), next: page?.next ?? null }
    },
    (row) => row,
  )
  yield* settingsOf(parts, owner)
  const options = await limitRequests.list({ accountId, status: null }, PAGE, null)
  yield section('limit_requests', options.map(limitRequestRecord))
  const ofAccount = { accountId, keyId: null, operation: null, status: null, model: null, from: null, to: null }
  yield section('archives', await reports.archivesOf(accountId))
  yield* list(
    'changes',
    paced(context, (after) => audit.ofAccount(accountId, PAGE, after)),
    historyEntry,
  )
  yield* list(
    'transactions',
    paced(context, (after) => statements.transactions(accountId, PAGE, after)),
    wireTransaction,
  )
  yield* list(
    'requests',
    paced(context, (after) => reports.requests(ofAccount, PAGE, after)),
    wireCall,
  )
  yield '}\n'
}

/** How the owner signs in, what acts for them, and where they are notified. */
async function* settingsOf(parts: ExportParts, { accountId, account: { userId } }: Subject): AsyncGenerator<string> {
  const { identity, grants, webhooks, noticeMails, social, credentials } = parts
  const now = parts.now()
  yield section('sessions', (await identity.sessions(userId)).map(sessionDetails))
  const apps = await grants.apps(userId, now)
  const made = await keysOfApps(credentials.lists, accountId, now)
  yield section('apps', await Promise.all(apps.map((app) => connectedApp(app, { accountId, userId }, made, parts))))
  yield section(
    'webhooks',
    (await webhooks.list(accountId)).map((webhook) => webhookRecord(webhook, now)),
  )
  const { kinds, weeklySummary } = await noticeMails.choiceOf(accountId)
  yield section('notice_mails', { kinds, weekly_summary: weeklySummary })
  yield* list(
    'social_accounts',
    (after) => socialPage({ social, credentials }, accountId, after, now),
    (row) => row,
  )
}

async function socialPage(
  { social, credentials }: Pick<ExportParts, 'social' | 'credentials'>,
  account: AccountId,
  after: string | null,
  now: number,
): Promise<Page<SocialAccount> | null> {
  if (!social) return null
  const query = { limit: SOCIAL_PAGE, ...(after !== null && { cursor: after }) }
  const { accounts, next_cursor: next } = await socialRecords(social, credentials, { accountId: account }, query, now)
  return { rows: accounts, next }
}

function section(name: string, value: unknown): string {
  return `,\n"${name}":${JSON.stringify(value)}`
}

async function* list<Row>(
  name: string,
  page: (after: string | null) => Promise<Page<Row> | null>,
  wire: (row: Row) => unknown,
): AsyncGenerator<string, void> {
  yield `,\n"${name}":[`
  let after: string | null = null
  let separator = '\n'
  do {
    const { rows, next }: Page<Row> = (await page(after)) ?? { rows: [], next: null }
    if (rows.length > 0) yield separator + rows.map((row) => JSON.stringify(wire(row))).join(',\n')
    if (rows.length > 0) separator = ',\n'
    after = next
  } while (after !== null)
  yield ']'
}
