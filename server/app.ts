import { Elysia } from 'elysia'
import { type ArrivalsOptions, arrivals } from './http/arrivals'
import { InnerCalls } from './http/inner-calls'
import type { ModelCalls } from './http/model-calls'
import type { PricedCalls } from './http/priced'
import type { ResearchCalls } from './http/research-calls'
import { accountRoutes } from './http/routes/account'
import { appRoutes } from './http/routes/apps'
import { type BillingParts, billingRoutes } from './http/routes/billing'
import { type CardMessageParts, cardMessageRoutes } from './http/routes/card-messages'
import { type DataProviders, dataRoutes } from './http/routes/data'
import { docsRoutes } from './http/routes/docs'
import { eventRoutes } from './http/routes/events'
import { healthRoutes } from './http/routes/health'
import { keyRecordRoutes } from './http/routes/key-records'
import { appKeyRoutes, keyRoutes } from './http/routes/keys'
import { ledgerCsvRoutes } from './http/routes/ledger-csv'
import { limitRequestRoutes } from './http/routes/limit-requests'
import { mcpRoutes } from './http/routes/mcp'
import { type MediaFiles, mediaRoutes } from './http/routes/media'
import { modelRoutes } from './http/routes/models'
import { operatorRoutes } from './http/routes/operator'
import { operatorAccountRoutes } from './http/routes/operator-accounts'
import { ownerModelRoutes } from './http/routes/owner-models'
import { ownerSocialRoutes } from './http/routes/owner-social'
import { ownerUsageRoutes } from './http/routes/owner-usage'
import { priceRoutes } from './http/routes/prices'
import { type SandboxSite, sandboxRoutes } from './http/routes/sandbox'
import { settingsRoutes } from './http/routes/settings'
import { signInRoutes } from './http/routes/sign-in'
import { socialRoutes } from './http/routes/social'
import { thumbnailRoutes } from './http/routes/thumbnail'
import { topUpRoutes } from './http/routes/top-ups'
import { tryRoutes } from './http/routes/try'
import { usageRoutes } from './http/routes/usage'
import { walletRoutes } from './http/routes/wallet'
import { wellKnownRoutes } from './http/routes/well-known'
import { ServedRoutes } from './http/served-routes'

export type AppParts = ArrivalsOptions &
  Parameters<typeof healthRoutes>[0] & {
    readonly priced: PricedCalls
    readonly providers: DataProviders
    readonly models: Parameters<typeof modelRoutes>[1]
    readonly modelCalls: ModelCalls
    readonly researchCalls: ResearchCalls
    readonly identity: Parameters<typeof signInRoutes>[1]
    readonly icons: MediaFiles
    /** Where the sandbox social network serves. */
    readonly sandbox: SandboxSite | null
  } & Parameters<typeof docsRoutes>[0] &
  Parameters<typeof wellKnownRoutes>[0] &
  Parameters<typeof usageRoutes>[1] &
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
  Parameters<typeof signInRoutes>[2] &
  Parameters<typeof settingsRoutes>[0] &
  Parameters<typeof thumbnailRoutes>[0] &
  Parameters<typeof mcpRoutes>[0] &
  Parameters<typeof appRoutes>[0]

/** The whole HTTP surface. `App` types the clients. */
export function app(parts: AppParts) {
  const routes = new ServedRoutes()
  const inner = new InnerCalls()
  // Strict: a path with a slash at its end is another path (spec-answers 2).
  const web = new Elysia({ strictPath: true })
    .use(arrivals(parts, routes))
    .use(healthRoutes(parts))
    .use(dataRoutes(parts.priced, parts.providers))
    .use(socialRoutes(parts))
    .use(modelRoutes(parts.desk, parts.models, parts.modelCalls, parts.researchCalls))
    .use(usageRoutes(parts.desk, parts))
    .use(signInRoutes(parts.desk, parts.identity, parts))
    .use(accountRoutes(parts))
    .use(keyRoutes(parts))
    .use(keyRecordRoutes(parts))
    .use(appKeyRoutes(parts))
    .use(ownerUsageRoutes(parts))
    .use(ownerModelRoutes(parts))
    .use(ownerSocialRoutes(parts))
    .use(sandboxRoutes(parts.sandbox))
    .use(tryRoutes(parts, inner))
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
    .use(mcpRoutes(parts, inner))
    .use(appRoutes(parts))
    .use(docsRoutes(parts))
  routes.remember(web.routes)
  inner.goTo((request) => web.handle(request))
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
