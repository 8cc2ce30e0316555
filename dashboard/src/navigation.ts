import type { Right } from './api/account/account.ts'
import { SHELL_TEXT } from './messages/shell.ts'
import type { ShellIconName } from './shell/shell-icon.tsx'

export interface NavigationEntry {
  readonly to: string
  readonly label: string
  readonly icon: ShellIconName
  readonly part: NavigationPart
  /** Shown only to operators of this gateway, or also to support. */
  readonly operator?: true | 'support'
  /** Shown only to members with this right in the workspace. */
  readonly right?: Right
  /** Pages below it have entries of their own. */
  readonly exact?: true
  /** Not a page of the dashboard, so it is opened with a full page load. */
  readonly outside?: true
  /** The pages of the entry, where it has several: tabs above each of them. The first is that of `to`. */
  readonly tabs?: readonly NavigationTab[]
}

export interface NavigationTab {
  readonly to: string
  readonly label: string
  readonly right?: Right
}

/** What the rail shows: one's own account or the gateway, as the switch says, and below both what helps. */
export const NAVIGATION_PARTS = ['account', 'operator', 'help'] as const
export type NavigationPart = (typeof NAVIGATION_PARTS)[number]

const { pagesOf } = SHELL_TEXT
const tab = (to: string, label: string, right?: Right): NavigationTab => ({ to, label, ...(right && { right }) })

/** The entries of the navigation, in order, at most nine of a part. A page is added in the change that makes it work, never before. */
export const NAVIGATION: readonly NavigationEntry[] = [
  { to: '/', label: pagesOf.overview, icon: 'overview', part: 'account' },
  { to: '/keys', label: pagesOf.keys, icon: 'keys', part: 'account', right: 'keys:read' },
  { to: '/playground', label: pagesOf.playground, icon: 'playground', part: 'account', right: 'calls:make' },
  { to: '/catalogue', label: pagesOf.catalog, icon: 'catalog', part: 'account' },
  { to: '/usage', label: pagesOf.usage, icon: 'usage', part: 'account', right: 'usage:read' },
  { to: '/limits', label: pagesOf.limits, icon: 'limits', part: 'account', right: 'keys:read' },
  { to: '/billing', label: pagesOf.billing, icon: 'money', part: 'account', right: 'money:read' },
  {
    to: '/apps',
    label: SHELL_TEXT.integrations,
    icon: 'apps',
    part: 'account',
    tabs: [
      tab('/apps', pagesOf.apps),
      tab('/social', pagesOf.social, 'keys:read'),
      tab('/webhooks', pagesOf.webhooks, 'settings:read'),
    ],
  },
  {
    to: '/settings',
    label: pagesOf.settings,
    icon: 'settings',
    part: 'account',
    tabs: [
      tab('/settings', pagesOf.settings),
      tab('/members', pagesOf.members, 'members:read'),
      tab('/audit', pagesOf.audit, 'audit:read'),
    ],
  },
  {
    to: '/operator',
    label: SHELL_TEXT.operatorHome,
    icon: 'operator',
    part: 'operator',
    operator: 'support',
    exact: true,
  },
  { to: '/operator/apis', label: pagesOf.operatorApis, icon: 'apis', part: 'operator', operator: true },
  { to: '/operator/models', label: pagesOf.operatorModels, icon: 'models', part: 'operator', operator: true },
  { to: '/operator/money', label: pagesOf.operatorMoney, icon: 'money', part: 'operator', operator: true },
  { to: '/operator/audit', label: pagesOf.operatorAudit, icon: 'audit', part: 'operator', operator: true },
  { to: '/docs', label: SHELL_TEXT.help, icon: 'docs', part: 'help', outside: true },
  { to: '/docs/guide', label: SHELL_TEXT.guide, icon: 'docs', part: 'help', outside: true },
]

/** Who looks at the dashboard; undefined while it is not known. */
type Viewer = { readonly operator: boolean; readonly support: boolean; readonly rights: readonly Right[] } | undefined

/** Whether somebody sees an entry of the navigation, or a tab. */
export function isShownTo({ operator, right }: Pick<NavigationEntry, 'operator' | 'right'>, who: Viewer): boolean {
  if (right && who && !who.rights.includes(right)) return false
  if (!operator || who?.operator) return true
  return operator === 'support' && who?.support === true
}

/** The part of the dashboard that a page belongs to. */
export function partOf(path: string): 'account' | 'operator' {
  return path === '/operator' || path.startsWith('/operator/') ? 'operator' : 'account'
}

/** The tabs above a page; none for most. */
export function tabsOf(path: string, who: Viewer): readonly NavigationTab[] {
  const entry = NAVIGATION.find(({ tabs }) => tabs?.some(({ to }) => to === path))
  return entry?.tabs?.filter((one) => isShownTo(one, who)) ?? []
}

/** Every page that has an entry or a tab. */
export function pagesFor(who: Viewer): readonly (NavigationTab & Pick<NavigationEntry, 'outside'>)[] {
  return NAVIGATION.filter((entry) => isShownTo(entry, who)).flatMap(({ to, label, outside, tabs }) =>
    tabs ? tabs.filter((one) => isShownTo(one, who)) : [{ to, label, ...(outside && { outside }) }],
  )
}
