import {
  AtSign,
  BarChart3,
  BookOpen,
  Bot,
  CircleUser,
  CreditCard,
  FlaskConical,
  Gauge,
  KeyRound,
  LayoutDashboard,
  type LucideIcon,
  Plug,
  ScrollText,
  Send,
  Settings,
  Store,
  Webhook,
  Wrench,
} from 'lucide-react'

const ICONS = {
  overview: LayoutDashboard,
  keys: KeyRound,
  usage: BarChart3,
  playground: FlaskConical,
  catalog: Store,
  money: CreditCard,
  limits: Gauge,
  social: AtSign,
  apps: Plug,
  webhooks: Send,
  audit: ScrollText,
  docs: BookOpen,
  settings: Settings,
  operator: Wrench,
  apis: Webhook,
  models: Bot,
  account: CircleUser,
} as const satisfies Record<string, LucideIcon>

export type ShellIconName = keyof typeof ICONS

/** An icon of the navigation. Loaded after its text. */
export function ShellIcon({ name }: { name: ShellIconName }) {
  const Icon = ICONS[name]
  return <Icon size={16} aria-hidden className="shrink-0" />
}
