import { Elysia } from 'elysia'
import type { AppGrantStore } from './core/accounts/app-grant'
import type { AppGrants } from './core/accounts/app-grants'
import type { Identity } from './core/accounts/identity'
import type { Keys } from './core/accounts/keys'
import type { SignUp } from './core/accounts/sign-up'
import type { LimitRequests } from './core/accounts/staff/limit-requests'
import type { Operator } from './core/accounts/staff/operator'
import type { SetupToken } from './core/accounts/staff/setup-token'
import type { TopUps } from './core/accounts/top-ups'
import type { ApiRegistry } from './core/apis/api-store'
import type { AuditTrail } from './core/audit'
import type { PriceStore } from './core/catalog/prices'
import type { OAuthGrants } from './core/credentials/oauth-grant'
import type { CredentialStore } from './core/credentials/store'
import type { LiveEvents } from './core/events/live-events'
import type { AccountStatements } from './core/ledger/account-statement'
import type { Ledger } from './core/ledger/ledger'
import type { Limiter } from './core/limits/limiter'
import type { ModelCatalog } from './core/models/model-catalog'
import type { Payments } from './core/payments/payments'
import type { UsageReports } from './core/usage/reports'
import { appRoutes } from './http/account/app-routes'
import { batchRoutes } from './http/account/batch-routes'
import { limitRequestRoutes } from './http/account/limit-request-routes'
import { accountRoutes } from './http/account/routes'
import { sessionRoutes } from './http/account/session-routes'
import { type SettingsParts, settingsRoutes } from './http/account/settings-routes'
import { type SignInParts, signInRoutes } from './http/account/sign-in-routes'
import type { ApiCalls } from './http/apis/api-calls'
import { catalogRoutes } from './http/apis/catalog-routes'
import { importedDocuments, importedRoutes, importedRouteTable } from './http/apis/routes'
import { schemaRoutes } from './http/apis/schema-routes'
import { auditRoutes, operatorAuditRoutes } from './http/audit/routes'
import { type CardMessageParts, cardMessageRoutes } from './http/billing/card-webhook'
import { ledgerCsvRoutes } from './http/billing/ledger-csv'
import { priceRoutes } from './http/billing/price-routes'
import { type BillingParts, billingRoutes } from './http/billing/routes'
import { topUpRoutes } from './http/billing/top-up-routes'
import { walletRoutes } from './http/billing/wallet-routes'
import { type GuideParts, guideRoutes } from './http/guide/routes'
import { keyRecordRoutes } from './http/keys/history-routes'
import { appKeyRoutes, keyRoutes } from './http/keys/routes'
import { mcpRoutes } from './http/mcp/routes'
import type { OwnerSessions } from './http/middleware/caller/owner-session'
import type { RequestBudgets } from './http/middleware/caller/request-budgets'
import type { Gate } from './http/middleware/gate'
import type { PricedCalls } from './http/middleware/priced'
import { type RequestHookOptions, requestHooks } from './http/middleware/request-hooks'
import type { OnFault } from './http/middleware/response/failures'
import { limitHeaders } from './http/middleware/response/reply'
import type { ModelCalls } from './http/models/model-calls'
import { ownerModelRoutes } from './http/models/owner-routes'
import type { ResearchCalls } from './http/models/research-calls'
import { modelRoutes } from './http/models/routes'
import { docsRoutes } from './http/openapi/routes'
import { operatorAccountRoutes } from './http/operator/account-routes'
import type { ApiCommandParts } from './http/operator/apis/api-commands'
import { type ApiReportParts, operatorApiReportRoutes } from './http/operator/apis/api-report-routes'
import { operatorApiActRoutes, operatorApiRoutes } from './http/operator/apis/api-routes'
import { type CustomerMoneyParts, customerMoneyRoutes } from './http/operator/customers/customer-money'
import {
  type CustomerRouteParts,
  customerActRoutes,
  customerRecordRoutes,
  customerRoutes,
} from './http/operator/customers/customer-routes'
import { type HealthParts, operatorHealthRoutes } from './http/operator/health-routes'
import { type BooksParts, bookRoutes } from './http/operator/money/books'
import { type ReconcileParts, reconcileRoutes } from './http/operator/money/reconcile'
import { type RevenueParts, revenueRoutes } from './http/operator/money/revenue'
import { type StuckParts, stuckRoutes } from './http/operator/money/stuck'
import { operatorRoles } from './http/operator/operator-roles'
import { type AfterRestoreParts, afterRestoreRoutes } from './http/operator/restore/after-restore'
import { operatorRoutes } from './http/operator/routes'
import { tryRoutes } from './http/playground/routes'
import { isGated, isProbe } from './http/routing/endpoint'
import { EndpointTable, type MountedRoute } from './http/routing/endpoint-table'
import { type MediaFiles, mediaRoutes } from './http/search/media-routes'
import { dataRoutes } from './http/search/routes'
import type { Thumbnails } from './http/search/thumbnails'
import { thumbnailRoutes } from './http/search/thumbnails'
import { ownerSocialRoutes } from './http/social/owner-routes'
import type { Social } from './http/social/record'
import { socialRoutes } from './http/social/routes'
import { type SandboxSite, sandboxRoutes } from './http/social/sandbox-routes'
import { healthRoutes } from './http/system/health-routes'
import type { Readiness } from './http/system/readiness'
import { wellKnownRoutes } from './http/system/well-known-routes'
import { errorRoutes } from './http/usage/error-routes'
import { eventRoutes } from './http/usage/event-routes'
import { ownerUsageRoutes } from './http/usage/owner-routes'
import { usageRoutes } from './http/usage/routes'
import type { UsageAnswers } from './http/usage/usage-answers'
import { appWebhookRoutes, noticeRoutes, type WebhookParts, webhookRoutes } from './http/webhooks/routes'
import { type UnsubscribeParts, unsubscribeRoutes } from './http/webhooks/unsubscribe-routes'
import type { UpToFrom } from './pipeline/apis/sold-route'
import type { ModelBackend } from './pipeline/models/model-backend'

/** The dependencies of all routes. Each group takes the parts it needs. */
export interface AppParts
  extends RequestHookOptions,
    CallParts,
    OwnerParts,
    AccountParts,
    MoneyParts,
    OperatorGroup,
    OpenParts,
    GuideParts {
  // Two groups use different sides of these.
  readonly limitRequests: LimitRequests
  readonly cards: CardMessageParts['cards']
  readonly apps: AppGrantStore
}

/** The whole HTTP surface. `App` types the clients. */
export function app(parts: AppParts) {
  const mounted: MountedRoute[] = []
  const imported = importedRouteTable(parts.apis, parts.upToFrom)
  const endpoints = new EndpointTable(imported)
  const built = Promise.withResolvers<(request: Request) => Promise<Response>>()
  // Strict: a path with a trailing slash is a different path (spec D2).
  const web = new Elysia({ strictPath: true })
    .use(requestHooks(parts, endpoints))
    .use(callRoutes(parts, endpoints))
    .use(importedRoutes(parts.apiCalls, imported))
    .onBeforeHandle(async ({ context, route, request }) => {
      const { pathname } = context.url
      // A gated path is counted when it is authenticated.
      if (isGated(pathname) || isProbe(pathname)) return
      await parts.budgets.count(context, endpoints.unitsOf(request.method, route, context.url))
    })
    .onAfterHandle(({ context, set }) => {
      if (context.readings) Object.assign(set.headers, limitHeaders(context.readings))
    })
    .use(ownerRoutes(parts, endpoints))
    .use(accountGroup(parts))
    .use(moneyRoutes(parts))
    .use(operatorGroup(parts))
    .use(batchRoutes(parts, async (request) => (await built.promise)(request)))
    .use(tryRoutes(parts, endpoints, async (request) => (await built.promise)(request)))
    .use(openRoutes(parts))
    .use(schemaRoutes())
    .use(guideRoutes(parts))
    .use(
      docsRoutes({
        ...parts,
        mounted,
        imported: () => importedDocuments(parts.apis.routes, parts.upToFrom, parts.prices),
      }),
    )
  mounted.push(...web.routes)
  endpoints.mount(mounted).requireSold()
  built.resolve((request) => web.handle(request))
  return web
}

interface CallParts {
  readonly gate: Gate
  readonly budgets: RequestBudgets
  readonly priced: PricedCalls
  readonly apis: ApiRegistry
  readonly upToFrom: UpToFrom
  readonly apiCalls: ApiCalls
  readonly onFault: OnFault
  readonly social: Social | null
  readonly models: ModelCatalog
  readonly modelCalls: ModelCalls
  readonly researchCalls: ResearchCalls
  readonly usage: UsageAnswers
  readonly keys: Keys
  readonly credentials: CredentialStore
  readonly apps: AppGrantStore
  readonly ledger: Ledger
  readonly prices: PriceStore
  readonly ownOrigins: ReadonlySet<string>
  readonly corsOrigins: ReadonlySet<string>
  readonly isLoopback: boolean
  readonly now: () => number
}

/** Routes called with a key, an access token or a payment. */
function callRoutes(parts: CallParts, endpoints: EndpointTable) {
  return group('calls')
    .use(dataRoutes(parts.priced))
    .use(socialRoutes(parts))
    .use(modelRoutes(parts.models, parts.modelCalls, parts.researchCalls))
    .use(usageRoutes(parts))
    .use(catalogRoutes(parts))
    .use(appKeyRoutes(parts))
    .use(mcpRoutes(parts, endpoints))
}

interface OwnerParts {
  readonly owners: OwnerSessions
  readonly keys: Keys
  readonly credentials: CredentialStore
  readonly apps: AppGrantStore
  readonly audit: AuditTrail
  readonly reports: UsageReports
  readonly statements: AccountStatements
  readonly ledger: Ledger
  readonly models: ModelCatalog
  readonly modelCalls: ModelCalls
  readonly social: Social | null
  readonly events: LiveEvents
  readonly thumbnails: Thumbnails
  readonly now: () => number
  readonly pingMs?: number
}

/** Keys and usage, for the dashboard. */
function ownerRoutes(parts: OwnerParts, endpoints: EndpointTable) {
  return group('owner')
    .use(keyRoutes(parts))
    .use(keyRecordRoutes(parts))
    .use(ownerUsageRoutes({ ...parts, endpoints }))
    .use(errorRoutes(parts))
    .use(ownerModelRoutes(parts))
    .use(ownerSocialRoutes(parts))
    .use(eventRoutes(parts))
    .use(thumbnailRoutes(parts))
}

interface AccountParts extends SettingsParts, SignInParts, WebhookParts, UnsubscribeParts {
  readonly owners: OwnerSessions
  readonly appGrants: AppGrants
  readonly audit: AuditTrail
  readonly now: () => number
  readonly limiter: Limiter
  readonly operator: Operator
  readonly setupToken: SetupToken
  readonly signUp: SignUp
  readonly limitRequests: LimitRequests
  readonly events: LiveEvents
  readonly grants: OAuthGrants
  readonly apps: AppGrantStore
  readonly baseUrl: string
}

/** Sign-in, the account, its settings and its connected apps. */
function accountGroup(parts: AccountParts) {
  return group('accounts')
    .use(signInRoutes(parts))
    .use(accountRoutes(parts))
    .use(settingsRoutes(parts))
    .use(sessionRoutes(parts))
    .use(limitRequestRoutes(parts))
    .use(appRoutes(parts))
    .use(webhookRoutes(parts))
    .use(appWebhookRoutes(parts))
    .use(noticeRoutes(parts))
    .use(unsubscribeRoutes(parts))
    .use(auditRoutes(parts))
}

interface MoneyParts extends BillingParts {
  readonly cards: CardMessageParts['cards']
  readonly identity: Identity
  readonly payments: Payments
  readonly topUps: TopUps
  readonly statements: AccountStatements
  readonly prices: PriceStore
}

/** The balance, top-ups and payments. */
function moneyRoutes(parts: MoneyParts) {
  return group('money')
    .use(walletRoutes(parts))
    .use(billingRoutes(parts))
    .use(topUpRoutes(parts))
    .use(cardMessageRoutes(parts))
    .use(ledgerCsvRoutes(parts))
    .use(priceRoutes(parts))
}

interface OperatorGroup
  extends CustomerRouteParts,
    CustomerMoneyParts,
    ReconcileParts,
    AfterRestoreParts,
    BooksParts,
    RevenueParts,
    StuckParts,
    ApiCommandParts,
    ApiReportParts,
    HealthParts {
  readonly owners: OwnerSessions
  readonly cards: CardMessageParts['cards']
  readonly audit: AuditTrail
  readonly models: ModelCatalog
  readonly upstreams: ModelBackend['states']
}

/** Routes for operators only. */
function operatorGroup(parts: OperatorGroup) {
  return group('operators')
    .use(operatorRoutes(parts))
    .use(operatorAccountRoutes(parts))
    .use(customerRoutes(parts))
    .use(customerRecordRoutes(parts))
    .use(customerActRoutes(parts))
    .use(customerMoneyRoutes(parts))
    .use(reconcileRoutes(parts))
    .use(afterRestoreRoutes(parts))
    .use(bookRoutes(parts))
    .use(revenueRoutes(parts))
    .use(stuckRoutes(parts))
    .use(operatorApiRoutes(parts))
    .use(operatorApiActRoutes(parts))
    .use(operatorApiReportRoutes(parts))
    .use(operatorHealthRoutes(parts))
    .use(operatorAuditRoutes({ ...parts, operator: operatorRoles(parts.owners).operator }))
}

interface OpenParts {
  readonly readiness: Readiness
  readonly owners: OwnerSessions
  /** The sandbox social network; null if disabled. */
  readonly sandbox: SandboxSite | null
  readonly icons: MediaFiles
  readonly identity: Identity
  readonly baseUrl: string
}

/** Public routes. */
function openRoutes(parts: OpenParts) {
  return group('open')
    .use(healthRoutes(parts))
    .use(sandboxRoutes(parts.sandbox))
    .use(mediaRoutes(parts.icons))
    .use(wellKnownRoutes(parts))
}

/** Groups the routes, because the compiler gives up on the types of too many chained `use` calls. */
function group(name: string) {
  return new Elysia({ name: `group ${name}`, strictPath: true })
}

/** @public The dashboard and other clients are typed by it. */
export type App = ReturnType<typeof app>
