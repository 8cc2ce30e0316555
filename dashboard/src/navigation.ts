import { SHELL_TEXT } from './messages/shell.ts'
import type { ShellIconName } from './shell/shell-icon.tsx'

export interface NavigationEntry {
  readonly to: string
  readonly label: string
  readonly icon: ShellIconName
  readonly group: NavigationGroup
  /** Shown only to operators of this gateway, or also to support. */
  readonly operator?: true | 'support'
  /** Pages below it have entries of their own. */
  readonly exact?: true
  /** Not a page of the dashboard, so it is opened with a full page load. */
  readonly outside?: true
}

/** The groups of pages, by purpose. */
export const NAVIGATION_GROUPS = ['overview', 'build', 'monitor', 'account', 'connect', 'operator'] as const
export type NavigationGroup = (typeof NAVIGATION_GROUPS)[number]

const { pagesOf } = SHELL_TEXT

/** The entries of the navigation, in order. A page is added in the change that makes it work, never before. */
export const NAVIGATION: readonly NavigationEntry[] = [
  { to: '/', label: pagesOf.overview, icon: 'overview', group: 'overview' },
  { to: '/keys', label: pagesOf.keys, icon: 'keys', group: 'build' },
  { to: '/playground', label: pagesOf.playground, icon: 'playground', group: 'build' },
  { to: '/catalogue', label: pagesOf.catalog, icon: 'catalog', group: 'build' },
  { to: '/docs', label: SHELL_TEXT.help, icon: 'docs', group: 'build', outside: true },
  { to: '/docs/guide', label: SHELL_TEXT.guide, icon: 'docs', group: 'build', outside: true },
  { to: '/usage', label: pagesOf.usage, icon: 'usage', group: 'monitor' },
  { to: '/limits', label: pagesOf.limits, icon: 'limits', group: 'monitor' },
  { to: '/audit', label: pagesOf.audit, icon: 'audit', group: 'monitor' },
  { to: '/billing', label: pagesOf.billing, icon: 'money', group: 'account' },
  { to: '/settings', label: pagesOf.settings, icon: 'settings', group: 'account' },
  { to: '/apps', label: pagesOf.apps, icon: 'apps', group: 'connect' },
  { to: '/social', label: pagesOf.social, icon: 'social', group: 'connect' },
  { to: '/webhooks', label: pagesOf.webhooks, icon: 'webhooks', group: 'connect' },
  { to: '/operator', label: pagesOf.operator, icon: 'operator', group: 'operator', operator: 'support', exact: true },
  { to: '/operator/apis', label: pagesOf.operatorApis, icon: 'apis', group: 'operator', operator: true },
  { to: '/operator/money', label: pagesOf.operatorMoney, icon: 'money', group: 'operator', operator: true },
  { to: '/operator/audit', label: pagesOf.operatorAudit, icon: 'audit', group: 'operator', operator: true },
]

/** Whether somebody sees an entry of the navigation. */
export function isShownTo(
  { operator }: NavigationEntry,
  who: { readonly operator: boolean; readonly support: boolean } | undefined,
): boolean {
  if (!operator || who?.operator) return true
  return operator === 'support' && who?.support === true
}
