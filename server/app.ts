import { Elysia } from 'elysia'
import type { ApiRegistry } from './core/apis/api-store'
import { appRoutes } from './http/account/app-routes'
import { batchRoutes } from './http/account/batch-routes'
import { budgetRoutes } from './http/account/budget-routes'
import { identityRoutes } from './http/account/identity-routes'
import { limitRequestRoutes } from './http/account/limit-request-routes'
import { accountRoutes } from './http/account/routes'
import { sessionRoutes } from './http/account/session-routes'
import { settingsRoutes } from './http/account/settings-routes'
import { signInRoutes } from './http/account/sign-in-routes'
import { workspaceRoutes } from './http/account/workspace-routes'
import type { ApiCalls } from './http/apis/api-calls'
import { catalogRoutes } from './http/apis/catalog-routes'
import { importedDocuments, importedRouteTable } from './http/apis/routes'
import { schemaRoutes } from './http/apis/schema-routes'
import { auditRoutes, operatorAuditRoutes } from './http/audit/routes'
import { cardMessageRoutes } from './http/billing/card-webhook'
import { ledgerCsvRoutes } from './http/billing/ledger-csv'
import { priceRoutes } from './http/billing/price-routes'
import { billingRoutes } from './http/billing/routes'
import { topUpRoutes } from './http/billing/top-up-routes'
import { walletRoutes } from './http/billing/wallet-routes'
import { guideRoutes } from './http/guide/routes'
import { keyRecordRoutes } from './http/keys/history-routes'
import { appKeyRoutes, keyRoutes } from './http/keys/routes'
import { mcpRoutes } from './http/mcp/routes'
import type { RequestBudgets } from './http/middleware/caller/request-budgets'
import { GatedPaths, type RequestParts } from './http/middleware/gated-paths'
import type { PricedCalls } from './http/middleware/priced'
import { type BunServer, pathOf } from './http/middleware/request-context'
import { requestHooks } from './http/middleware/request-hooks'
import { limitHeaders } from './http/middleware/response/reply'
import { ownerModelRoutes } from './http/models/owner-routes'
import type { ResearchCalls } from './http/models/research-calls'
import { modelRoutes } from './http/models/routes'
import { docsRoutes } from './http/openapi/routes'
import { operatorAccountRoutes } from './http/operator/account-routes'
import { operatorApiReportRoutes } from './http/operator/apis/api-report-routes'
import { catalogFileRoutes, operatorApiActRoutes, operatorApiRoutes } from './http/operator/apis/api-routes'
import { customerMoneyRoutes } from './http/operator/customers/customer-money'
import { customerActRoutes, customerRecordRoutes, customerRoutes } from './http/operator/customers/customer-routes'
import { operatorHealthRoutes } from './http/operator/health-routes'
import { operatorModelRoutes } from './http/operator/model-routes'
import { modelVendorRoutes } from './http/operator/model-vendor-routes'
import { bookRoutes } from './http/operator/money/books'
import { reconcileRoutes } from './http/operator/money/reconcile'
import { revenueRoutes } from './http/operator/money/revenue'
import { stuckRoutes } from './http/operator/money/stuck'
import { operatorRoles } from './http/operator/operator-roles'
import { operatorPriceRoutes } from './http/operator/price-routes'
import { afterRestoreRoutes } from './http/operator/restore/after-restore'
import { archiveRoutes } from './http/operator/restore/archive-routes'
import { backupRoutes } from './http/operator/restore/backup-routes'
import { operatorRoutes } from './http/operator/routes'
import { operatorWebhookRoutes } from './http/operator/webhook-routes'
import { tryRoutes } from './http/playground/routes'
import { isGatedUrl, isProbe } from './http/routing/endpoint'
import { EndpointTable, type MountedRoute } from './http/routing/endpoint-table'
import { type MediaFiles, mediaRoutes } from './http/search/media-routes'
import { dataRoutes } from './http/search/routes'
import { thumbnailRoutes } from './http/search/thumbnails'
import { ownerSocialRoutes } from './http/social/owner-routes'
import { socialRoutes } from './http/social/routes'
import { type SandboxSite, sandboxRoutes } from './http/social/sandbox-routes'
import { healthRoutes } from './http/system/health-routes'
import { wellKnownRoutes } from './http/system/well-known-routes'
import { errorRoutes } from './http/usage/error-routes'
import { eventRoutes } from './http/usage/event-routes'
import { ownerUsageRoutes } from './http/usage/owner-routes'
import { usageRoutes } from './http/usage/routes'
import { appWebhookRoutes, noticeRoutes, webhookRoutes } from './http/webhooks/routes'
import { unsubscribeRoutes } from './http/webhooks/unsubscribe-routes'

/** The parts that functions of routes take, of all of them together. */
type Needs<Routes extends (parts: never, ...more: never[]) => unknown> = (
  Routes extends (parts: infer Parts, ...more: never[]) => unknown
    ? (parts: Parts) => void
    : never
) extends (parts: infer All) => void
  ? All
  : never

/** The dependencies of all routes. */
export type AppParts = Needs<
  | typeof requestHooks
  | typeof socialRoutes
  | typeof usageRoutes
  | typeof catalogRoutes
  | typeof appKeyRoutes
  | typeof mcpRoutes
  | typeof keyRoutes
  | typeof keyRecordRoutes
  | typeof errorRoutes
  | typeof ownerModelRoutes
  | typeof ownerSocialRoutes
  | typeof eventRoutes
  | typeof thumbnailRoutes
  | typeof signInRoutes
  | typeof accountRoutes
  | typeof settingsRoutes
  | typeof identityRoutes
  | typeof sessionRoutes
  | typeof limitRequestRoutes
  | typeof budgetRoutes
  | typeof appRoutes
  | typeof workspaceRoutes
  | typeof webhookRoutes
  | typeof appWebhookRoutes
  | typeof noticeRoutes
  | typeof unsubscribeRoutes
  | typeof auditRoutes
  | typeof walletRoutes
  | typeof billingRoutes
  | typeof topUpRoutes
  | typeof cardMessageRoutes
  | typeof ledgerCsvRoutes
  | typeof priceRoutes
  | typeof operatorRoutes
  | typeof operatorPriceRoutes
  | typeof operatorAccountRoutes
  | typeof customerRoutes
  | typeof customerRecordRoutes
  | typeof customerActRoutes
  | typeof customerMoneyRoutes
  | typeof reconcileRoutes
  | typeof afterRestoreRoutes
  | typeof bookRoutes
  | typeof revenueRoutes
  | typeof stuckRoutes
  | typeof operatorApiRoutes
  | typeof operatorApiActRoutes
  | typeof operatorApiReportRoutes
  | typeof catalogFileRoutes
  | typeof operatorModelRoutes
  | typeof modelVendorRoutes
  | typeof operatorWebhookRoutes
  | typeof backupRoutes
  | typeof archiveRoutes
  | typeof operatorHealthRoutes
  | typeof batchRoutes
  | typeof tryRoutes
  | typeof healthRoutes
  | typeof wellKnownRoutes
  | typeof guideRoutes
> &
  Omit<Parameters<typeof docsRoutes>[0], 'mounted' | 'imported'> &
  Omit<Parameters<typeof ownerUsageRoutes>[0], 'endpoints'> &
  RequestParts & {
    readonly priced: PricedCalls
    readonly apis: ApiRegistry
    readonly apiCalls: ApiCalls
    readonly researchCalls: ResearchCalls
    readonly budgets: RequestBudgets
    /** The sandbox social network; null if disabled. */
    readonly sandbox: SandboxSite | null
    readonly icons: MediaFiles
  }

/** The whole HTTP surface, for every entry: the port, the control socket, and requests that are made inside. */
export function app(parts: AppParts) {
  const endpoints = new EndpointTable(importedRouteTable(parts.apis, () => parts.upToFrom, parts.apiCalls))
  const gated = new GatedPaths(parts, endpoints)
  const handle = (request: Request): Promise<Response> =>
    isGatedUrl(request.url) ? gated.answer(request, web.server as BunServer) : web.handle(request)
  const web = routesOf(parts, endpoints, handle)
  const { routes } = web
  return {
    handle,
    routes,
    /** The route of a gated path, for a worker that asks about a call. */
    routeOf: (method: string, url: string) => endpoints.match(method, pathOf(url)).route,
    /** Bun's server, once it listens. */
    set server(server: typeof web.server) {
      web.server = server
    },
  }
}

/** All routes, as Elysia documents them. It serves those whose paths are not gated. */
function routesOf(parts: AppParts, endpoints: EndpointTable, dispatch: (request: Request) => Promise<Response>) {
  const mounted: MountedRoute[] = []
  // Strict: a path with a trailing slash is a different path (spec D2).
  const web = new Elysia({ strictPath: true })
    .use(requestHooks(parts, endpoints))
    .use(callRoutes(parts, endpoints))
    .onBeforeHandle(async ({ context, route, request }) => {
      if (isProbe(context.path) || context.origin.isConsole) return
      parts.budgets.count(context, endpoints.unitsOf(request.method, route, context.url))
    })
    .onAfterHandle(({ context, set }) => {
      if (context.readings) Object.assign(set.headers, limitHeaders(context.readings))
    })
    .use(ownerRoutes(parts, endpoints))
    .use(accountGroup(parts))
    .use(moneyRoutes(parts))
    .use(operatorGroup(parts))
    .use(batchRoutes(parts, dispatch))
    .use(tryRoutes(parts, endpoints, dispatch))
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
  return web
}

/** Routes called with a key, an access token or a payment. */
function callRoutes(parts: AppParts, endpoints: EndpointTable) {
  return group('calls')
    .use(dataRoutes(parts.priced))
    .use(socialRoutes(parts))
    .use(modelRoutes(parts.models, parts.modelCalls, parts.researchCalls))
    .use(usageRoutes(parts))
    .use(catalogRoutes(parts))
    .use(appKeyRoutes(parts))
    .use(mcpRoutes(parts, endpoints))
}

/** Keys and usage, for the dashboard. */
function ownerRoutes(parts: AppParts, endpoints: EndpointTable) {
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

/** Sign-in, the account, its settings and its connected apps. */
function accountGroup(parts: AppParts) {
  return group('accounts')
    .use(signInRoutes(parts))
    .use(accountRoutes(parts))
    .use(settingsRoutes(parts))
    .use(identityRoutes(parts))
    .use(sessionRoutes(parts))
    .use(limitRequestRoutes(parts))
    .use(budgetRoutes(parts))
    .use(appRoutes(parts))
    .use(workspaceRoutes(parts))
    .use(webhookRoutes(parts))
    .use(appWebhookRoutes(parts))
    .use(noticeRoutes(parts))
    .use(unsubscribeRoutes(parts))
    .use(auditRoutes(parts))
}

/** The balance, top-ups and payments. */
function moneyRoutes(parts: AppParts) {
  return group('money')
    .use(walletRoutes(parts))
    .use(billingRoutes(parts))
    .use(topUpRoutes(parts))
    .use(cardMessageRoutes(parts))
    .use(ledgerCsvRoutes(parts))
    .use(priceRoutes(parts))
}

/** Routes for operators only. */
function operatorGroup(parts: AppParts) {
  return group('operators')
    .use(operatorRoutes(parts))
    .use(operatorPriceRoutes(parts))
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
    .use(catalogFileRoutes(parts))
    .use(operatorModelRoutes(parts))
    .use(modelVendorRoutes(parts))
    .use(operatorWebhookRoutes(parts))
    .use(backupRoutes(parts))
    .use(archiveRoutes(parts))
    .use(operatorHealthRoutes(parts))
    .use(operatorAuditRoutes({ ...parts, operator: operatorRoles(parts.owners).operator }))
}

/** Public routes. */
function openRoutes(parts: AppParts) {
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
export type App = ReturnType<typeof routesOf>
