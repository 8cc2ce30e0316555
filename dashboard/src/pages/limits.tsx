import { IncreaseCard } from '../features/limits/increase-card.tsx'
import { LimitRules } from '../features/limits/limit-rules.tsx'
import { LiveLimits } from '../features/limits/live-limits.tsx'
import { TierCard } from '../features/limits/tier-card.tsx'
import { TierTable } from '../features/limits/tier-table.tsx'
import { Page } from '../ui/page.tsx'
import { SHELL_WORDS } from '../words/shell.ts'

export function Limits() {
  return (
    <Page title={SHELL_WORDS.pagesOf.limits}>
      <TierCard />
      <LiveLimits />
      <TierTable />
      <LimitRules />
      <IncreaseCard />
    </Page>
  )
}
