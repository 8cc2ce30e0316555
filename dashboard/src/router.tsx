import {
  createRootRoute,
  createRoute,
  createRouter,
  Outlet,
  type RouteComponent,
  redirect,
  type SearchSchemaInput,
} from '@tanstack/react-router'
import { accountQuery } from './api/account/account.ts'
// Reads the URL as it was loaded, so this import must come before anything that could change it.
import './api/account/initial-query.ts'
import { toApiFailure } from './api/client/failure.ts'
import { queryClient } from './api/client/query-client.ts'
import { type KeyView, keyView } from './api/views/key-view.ts'
import { keysView } from './api/views/keys-view.ts'
import { playgroundView } from './api/views/playground-view.ts'
import { type UsageView, usageView } from './api/views/usage-view.ts'
import { safeRedirect } from './safe-redirect.ts'
import { AppShell } from './shell/app-shell.tsx'
import { NotFound, PageNotLoaded, ProblemPage } from './shell/problem-page.tsx'
import { lazyPart } from './ui/feedback/lazy-part.tsx'

const root = createRootRoute({ component: Outlet, notFoundComponent: NotFound, errorComponent: ProblemPage })

/** The layout of all pages that need a sign-in. Signed-out visitors are sent to the sign-in page and back afterwards. */
const shell = createRoute({
  getParentRoute: () => root,
  id: 'shell',
  component: AppShell,
  beforeLoad: ({ location }) => signedIn(location.href),
})

async function signedIn(href: string): Promise<void> {
  if (!(await isSignedIn())) throw redirect({ to: '/sign-in', search: href === '/' ? {} : { to: href } })
}

async function isSignedIn(): Promise<boolean> {
  try {
    await queryClient.ensureQueryData(accountQuery)
    return true
  } catch (error) {
    if (toApiFailure(error).code !== 'missing_session') throw error
    return false
  }
}

/**
 * A page, loaded on demand. The router's own way reloads the window when a page cannot be loaded, which ends in the browser's error page
 * while the gateway is away.
 */
function lazyPage<N extends string>(load: () => Promise<Record<N, RouteComponent>>, name: N): RouteComponent {
  return lazyPart(() => load().then(({ [name]: page }) => page), { failure: PageNotLoaded })
}

/** A page that needs a sign-in, with its path and component, loaded on demand. */
const page = <P extends string, N extends string>(path: P, load: () => Promise<Record<N, RouteComponent>>, name: N) =>
  createRoute({ getParentRoute: () => shell, path, component: lazyPage(load, name) })

const keys = createRoute({
  getParentRoute: () => shell,
  path: '/keys',
  validateSearch: keysView,
  component: lazyPage(() => import('./pages/keys.tsx'), 'Keys'),
})

const key = createRoute({
  getParentRoute: () => shell,
  path: '/keys/$id',
  validateSearch: (search: KeyView & SearchSchemaInput) => keyView({ ...search }),
  component: lazyPage(() => import('./pages/key.tsx'), 'KeyPage'),
})

const usage = createRoute({
  getParentRoute: () => shell,
  path: '/usage',
  validateSearch: (search: Partial<UsageView> & SearchSchemaInput) => usageView({ ...search }),
  component: lazyPage(() => import('./pages/usage.tsx'), 'Usage'),
})

const playground = createRoute({
  getParentRoute: () => shell,
  path: '/playground',
  validateSearch: playgroundView,
  component: lazyPage(() => import('./pages/playground.tsx'), 'Playground'),
})

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  // Only paths of this dashboard, so that a crafted link cannot choose where a sign-in leads. Other parameters stay unchanged.
  validateSearch: (search: Record<string, unknown>): { to?: string | undefined } => ({
    to: safeRedirect(search['to']),
  }),
  component: lazyPage(() => import('./pages/sign-in.tsx'), 'SignIn'),
})

/** A page that an app or device sends its owner to. Signed-out visitors sign in first and return. */
const appPage = <P extends string, N extends string>(
  path: P,
  load: () => Promise<Record<N, RouteComponent>>,
  name: N,
) =>
  createRoute({
    getParentRoute: () => root,
    path,
    beforeLoad: async ({ location }) => {
      if (new URLSearchParams(location.searchStr).has('error')) return
      await signedIn(location.href)
    },
    component: lazyPage(load, name),
  })

const signUp = createRoute({
  getParentRoute: () => root,
  path: '/sign-up',
  component: lazyPage(() => import('./pages/sign-up.tsx'), 'SignUp'),
})

/** A page for signed-out visitors. */
const publicPage = <P extends string, N extends string>(
  path: P,
  load: () => Promise<Record<N, RouteComponent>>,
  name: N,
) => createRoute({ getParentRoute: () => root, path, component: lazyPage(load, name) })

/** The catalog is for everybody: inside the shell for signed-in visitors, alone for others. */
const catalog = createRoute({
  getParentRoute: () => root,
  path: '/catalogue',
  validateSearch: (search: Record<string, unknown>): { q?: string } =>
    typeof search['q'] === 'string' && search['q'] !== '' ? { q: search['q'] } : {},
  beforeLoad: async () => ({ isSignedIn: await isSignedIn() }),
  component: CatalogRoute,
})

function CatalogRoute() {
  const { isSignedIn } = catalog.useRouteContext()
  const page = <Catalog isSignedIn={isSignedIn} />
  return isSignedIn ? <AppShell>{page}</AppShell> : page
}

const Catalog = lazyPart(() => import('./pages/catalog.tsx').then(({ Catalog }) => Catalog), {
  failure: PageNotLoaded,
})

const publicPages = [
  publicPage('/forgot-password', () => import('./pages/forgot-password.tsx'), 'ForgotPassword'),
  publicPage('/reset-password', () => import('./pages/reset-password.tsx'), 'ResetPassword'),
  publicPage('/invite', () => import('./pages/invite.tsx'), 'Invite'),
  publicPage('/confirm-email', () => import('./pages/confirm-email.tsx'), 'ConfirmEmail'),
]
const consent = appPage('/consent', () => import('./pages/consent.tsx'), 'Consent')
const device = appPage('/device', () => import('./pages/device.tsx'), 'Device')

const pages = [
  page('/', () => import('./pages/overview.tsx'), 'Overview'),
  page('/welcome', () => import('./pages/welcome.tsx'), 'Welcome'),
  keys,
  page('/apps', () => import('./pages/apps.tsx'), 'Apps'),
  page('/notices', () => import('./pages/notices.tsx'), 'Notices'),
  page('/members', () => import('./pages/members.tsx'), 'Members'),
  page('/audit', () => import('./pages/audit.tsx'), 'Audit'),
  page('/requests/$id', () => import('./pages/request.tsx'), 'RequestPage'),
  page('/webhooks', () => import('./pages/webhooks.tsx'), 'Webhooks'),
  key,
  page('/billing', () => import('./pages/billing.tsx'), 'Billing'),
  page('/limits', () => import('./pages/limits.tsx'), 'Limits'),
  page('/social', () => import('./pages/social.tsx'), 'Social'),
  page('/settings', () => import('./pages/settings.tsx'), 'Settings'),
  page('/operator', () => import('./pages/operator.tsx'), 'Operator'),
  page('/operator/audit', () => import('./pages/operator-audit.tsx'), 'OperatorAudit'),
  page('/operator/money', () => import('./pages/operator-money.tsx'), 'OperatorMoney'),
  page('/operator/accounts/$id', () => import('./pages/operator-account.tsx'), 'OperatorAccount'),
  page('/operator/models', () => import('./pages/operator-models.tsx'), 'OperatorModels'),
  page('/operator/apis', () => import('./pages/operator-apis.tsx'), 'OperatorApis'),
  page('/operator/apis/$name', () => import('./pages/operator-api.tsx'), 'OperatorApi'),
  page('/operator/apis/$name/import', () => import('./pages/import-api.tsx'), 'ImportAgain'),
  // Two segments, because an API may have any name.
  page('/operator/apis/import/new', () => import('./pages/import-api.tsx'), 'ImportNew'),
  usage,
  playground,
]

export const router = createRouter({
  routeTree: root.addChildren([signIn, signUp, consent, device, catalog, ...publicPages, shell.addChildren(pages)]),
  defaultPreload: 'intent',
  defaultPendingMs: 300,
  scrollRestoration: true,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
  /** In no address: a link cannot say it. */
  interface HistoryState {
    isAccountDeleted?: boolean
  }
}
