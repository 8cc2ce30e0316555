import { Elysia } from 'elysia'
import { appRoutes } from './http/account/app-routes'
import { limitRequestRoutes } from './http/account/limit-request-routes'
import { accountRoutes } from './http/account/routes'
import { settingsRoutes } from './http/account/settings-routes'
import { signInRoutes } from './http/account/sign-in-routes'
import { type CardMessageParts, cardMessageRoutes } from './http/billing/card-webhook'
import { ledgerCsvRoutes } from './http/billing/ledger-csv'
import { priceRoutes } from './http/billing/price-routes'
import { type BillingParts, billingRoutes } from './http/billing/routes'
import { topUpRoutes } from './http/billing/top-up-routes'
import { walletRoutes } from './http/billing/wallet-routes'
import { keyRecordRoutes } from './http/keys/history-routes'
import { appKeyRoutes, keyRoutes } from './http/keys/routes'
import { mcpRoutes } from './http/mcp/routes'
import type { PricedCalls } from './http/middleware/priced'
import { type RequestHookOptions, requestHooks } from './http/middleware/request-hooks'
import type { ModelCalls } from './http/models/model-calls'
import { ownerModelRoutes } from './http/models/owner-routes'
import type { ResearchCalls } from './http/models/research-calls'
import { modelRoutes } from './http/models/routes'
import { docsRoutes } from './http/openapi/routes'
import { operatorAccountRoutes } from './http/operator/account-routes'
import { operatorRoutes } from './http/operator/routes'
import { tryRoutes } from './http/playground/routes'
import { ServedRoutes } from './http/routing/served-routes'
import { type MediaFiles, mediaRoutes } from './http/search/media-routes'
import { dataRoutes } from './http/search/routes'
import { thumbnailRoutes } from './http/search/thumbnail-routes'
import { ownerSocialRoutes } from './http/social/owner-routes'
import { socialRoutes } from './http/social/routes'
import { type SandboxSite, sandboxRoutes } from './http/social/sandbox-routes'
import { healthRoutes } from './http/system/health-routes'
import { wellKnownRoutes } from './http/system/well-known-routes'
import { eventRoutes } from './http/usage/event-routes'
import { ownerUsageRoutes } from './http/usage/owner-routes'
import { usageRoutes } from './http/usage/routes'

export type AppParts = RequestHookOptions &
  Parameters<typeof healthRoutes>[0] & {
    readonly priced: PricedCalls
    readonly models: Parameters<typeof modelRoutes>[0]
    readonly modelCalls: ModelCalls
    readonly researchCalls: ResearchCalls
    readonly identity: Parameters<typeof signInRoutes>[0]
    readonly icons: MediaFiles
    /** Where the sandbox social network serves. */
    readonly sandbox: SandboxSite | null
  } & Parameters<typeof docsRoutes>[0] &
  Parameters<typeof wellKnownRoutes>[0] &
  Parameters<typeof usageRoutes>[0] &
  Parameters<typeof keyRoutes>[0] &
  Parameters<typeof keyRecordRoutes>[0] &
  Parameters<typeof accountRoutes>[0] &
  Parameters<typeof ownerUsageRoutes>[0] &
  Parameters<typeof eventRoutes>[0] &
  Parameters<typeof ownerSocialRoutes>[0] &
  Parameters<typeof walletRoutes>[0] &
  BillingParts &
  Parameters<typeof topUpRoutes>[0] &
  CardMessageParts &
  Parameters<typeof limitRequestRoutes>[0] &
  Parameters<typeof priceRoutes>[0] &
  Parameters<typeof operatorRoutes>[0] &
  Parameters<typeof signInRoutes>[1] &
  Parameters<typeof settingsRoutes>[0] &
  Parameters<typeof thumbnailRoutes>[0] &
  Parameters<typeof mcpRoutes>[0] &
  Parameters<typeof appRoutes>[0]

/** The whole HTTP surface. `App` types the clients. */
export function app(parts: AppParts) {
  const routes = new ServedRoutes()
  const built = Promise.withResolvers<(request: Request) => Promise<Response>>()
  // Strict: a path with a slash at its end is another path (spec-answers 2).
  const web = new Elysia({ strictPath: true })
    .use(requestHooks(parts, routes))
    .use(healthRoutes(parts))
    .use(dataRoutes(parts.priced))
    .use(socialRoutes(parts))
    .use(modelRoutes(parts.models, parts.modelCalls, parts.researchCalls))
    .use(usageRoutes(parts))
    .use(signInRoutes(parts.identity, parts))
    .use(accountRoutes(parts))
    .use(keyRoutes(parts))
    .use(keyRecordRoutes(parts))
    .use(appKeyRoutes(parts))
    .use(ownerUsageRoutes(parts))
    .use(ownerModelRoutes(parts))
    .use(ownerSocialRoutes(parts))
    .use(sandboxRoutes(parts.sandbox))
    .use(tryRoutes(parts, async (request) => (await built.promise)(request)))
    .use(eventRoutes(parts))
    .use(moneyRoutes(parts))
    .use(limitRequestRoutes(parts))
    .use(priceRoutes(parts))
    .use(operatorRoutes(parts))
    .use(settingsRoutes(parts))
    .use(thumbnailRoutes(parts))
    .use(operatorAccountRoutes(parts))
    .use(mediaRoutes(parts.icons))
    .use(wellKnownRoutes(parts))
    .use(mcpRoutes(parts))
    .use(appRoutes(parts))
    .use(docsRoutes(parts))
  routes.remember(web.routes)
  built.resolve((request) => web.handle(request))
  return web
}

/** A group: the compiler gives up on the types of an app that uses too many parts in a row. */
function moneyRoutes(parts: AppParts) {
  return new Elysia({ name: 'money', strictPath: true })
    .use(walletRoutes(parts))
    .use(billingRoutes(parts))
    .use(topUpRoutes(parts))
    .use(cardMessageRoutes(parts))
    .use(ledgerCsvRoutes(parts))
}

/** @public The dashboard and other clients are typed by it. */
export type App = ReturnType<typeof app>
