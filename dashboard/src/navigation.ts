import {
  AtSign,
  BarChart3,
  BookOpen,
  CreditCard,
  FlaskConical,
  Gauge,
  KeyRound,
  LayoutDashboard,
  type LucideIcon,
  Plug,
  ScrollText,
  Send,
  Settings as SettingsIcon,
  Store,
  Webhook,
  Wrench,
} from 'lucide-react'
import { SHELL_TEXT } from './messages/shell.ts'

export interface NavigationEntry {
  readonly to: string
  readonly label: string
  readonly icon: LucideIcon
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
  { to: '/', label: pagesOf.overview, icon: LayoutDashboard },
  { to: '/keys', label: pagesOf.keys, icon: KeyRound },
  { to: '/usage', label: pagesOf.usage, icon: BarChart3 },
  { to: '/playground', label: pagesOf.playground, icon: FlaskConical },
  { to: '/catalogue', label: pagesOf.catalog, icon: Store },
  { to: '/billing', label: pagesOf.billing, icon: CreditCard },
  { to: '/limits', label: pagesOf.limits, icon: Gauge },
  { to: '/social', label: pagesOf.social, icon: AtSign },
  { to: '/apps', label: pagesOf.apps, icon: Plug },
  { to: '/webhooks', label: pagesOf.webhooks, icon: Send },
  { to: '/audit', label: pagesOf.audit, icon: ScrollText },
  { to: '/docs', label: SHELL_TEXT.help, icon: BookOpen, outside: true },
  { to: '/docs/guide', label: SHELL_TEXT.guide, icon: BookOpen, outside: true },
  { to: '/settings', label: pagesOf.settings, icon: SettingsIcon },
  { to: '/operator', label: pagesOf.operator, icon: Wrench, operator: 'support', exact: true },
  { to: '/operator/apis', label: pagesOf.operatorApis, icon: Webhook, operator: true },
  { to: '/operator/money', label: pagesOf.operatorMoney, icon: CreditCard, operator: true },
  { to: '/operator/audit', label: pagesOf.operatorAudit, icon: ScrollText, operator: true },
]

/** Whether somebody sees an entry of the navigation. */
export function isShownTo(
  { operator }: NavigationEntry,
  who: { readonly operator: boolean; readonly support: boolean } | undefined,
): boolean {
  if (!operator || who?.operator) return true
  return operator === 'support' && who?.support === true
}
