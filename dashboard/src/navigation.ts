import { SHELL_TEXT } from './messages/shell.ts'
import type { ShellIconName } from './shell/shell-icon.tsx'

export interface NavigationEntry {
  readonly to: string
  readonly label: string
  readonly icon: ShellIconName
  /** Shown only to operators of this gateway, or also to support. */
  readonly operator?: true | 'support'
  /** Pages below it have entries of their own. */
  readonly exact?: true
  /** Not a page of the dashboard, so it is opened with a full page load. */
  readonly outside?: true
}

const { pagesOf } = SHELL_TEXT

/** The entries of the navigation, in order. A page is added in the change that makes it work, never before. */
export const NAVIGATION: readonly NavigationEntry[] = [
  { to: '/', label: pagesOf.overview, icon: 'overview' },
  { to: '/keys', label: pagesOf.keys, icon: 'keys' },
  { to: '/usage', label: pagesOf.usage, icon: 'usage' },
  { to: '/playground', label: pagesOf.playground, icon: 'playground' },
  { to: '/catalogue', label: pagesOf.catalog, icon: 'catalog' },
  { to: '/billing', label: pagesOf.billing, icon: 'money' },
  { to: '/limits', label: pagesOf.limits, icon: 'limits' },
  { to: '/social', label: pagesOf.social, icon: 'social' },
  { to: '/apps', label: pagesOf.apps, icon: 'apps' },
  { to: '/webhooks', label: pagesOf.webhooks, icon: 'webhooks' },
  { to: '/audit', label: pagesOf.audit, icon: 'audit' },
  { to: '/docs', label: SHELL_TEXT.help, icon: 'docs', outside: true },
  { to: '/docs/guide', label: SHELL_TEXT.guide, icon: 'docs', outside: true },
  { to: '/settings', label: pagesOf.settings, icon: 'settings' },
  { to: '/operator', label: pagesOf.operator, icon: 'operator', operator: 'support', exact: true },
  { to: '/operator/apis', label: pagesOf.operatorApis, icon: 'apis', operator: true },
  { to: '/operator/money', label: pagesOf.operatorMoney, icon: 'money', operator: true },
  { to: '/operator/audit', label: pagesOf.operatorAudit, icon: 'audit', operator: true },
]

/** Whether somebody sees an entry of the navigation. */
export function isShownTo(
  { operator }: NavigationEntry,
  who: { readonly operator: boolean; readonly support: boolean } | undefined,
): boolean {
  if (!operator || who?.operator) return true
  return operator === 'support' && who?.support === true
}
