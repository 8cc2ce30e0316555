import { Boxes, type LucideIcon, Network, Waypoints } from 'lucide-react'
import type { ApiKey } from '../../api/keys.ts'
import { KEY_TEXT as TEXT } from '../../messages/keys.ts'

/** What a key may not do, an icon each. */
export function KeyRestrictions({ apiKey }: { apiKey: ApiKey }) {
  const { allowed_ips: ips, allowed_endpoints: endpoints, allowed_models: models } = apiKey
  const all = ips.length + endpoints.length + models.length
  if (all === 0) return <span className="text-muted">{TEXT.unrestricted}</span>
  return (
    <span className="flex items-center gap-2 text-muted">
      <Restriction Icon={Network} to={ips} text={TEXT.onlyIps} />
      <Restriction Icon={Waypoints} to={endpoints} text={TEXT.onlyEndpoints} />
      <Restriction Icon={Boxes} to={models} text={TEXT.onlyModels} />
    </span>
  )
}

function Restriction({ Icon, to, text }: { Icon: LucideIcon; to: readonly string[]; text: (list: string) => string }) {
  if (to.length === 0) return null
  const words = text(to.join(', '))
  return (
    <span title={words}>
      <Icon size={16} aria-hidden />
      <span className="sr-only">{words}</span>
    </span>
  )
}
