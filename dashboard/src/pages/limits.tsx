import { IncreaseCard } from '../features/limits/increase-card.tsx'
import { LimitRules } from '../features/limits/limit-rules.tsx'
import { LiveLimits } from '../features/limits/live-limits.tsx'
import { TierCard } from '../features/limits/tier-card.tsx'
import { TierTable } from '../features/limits/tier-table.tsx'
import { SHELL_TEXT } from '../messages/shell.ts'
import { Page } from '../ui/layout/page.tsx'

export function Limits() {
  return (
    <Page title={SHELL_TEXT.pagesOf.limits}>
      <TierCard />
      <LiveLimits />
      <TierTable />
      <LimitRules />
      <IncreaseCard />
    </Page>
  )
}
