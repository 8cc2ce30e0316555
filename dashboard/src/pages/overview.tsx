import { Attention } from '../features/overview/attention.tsx'
import { FirstSteps } from '../features/overview/first-steps.tsx'
import { OverviewFigures } from '../features/overview/overview-figures.tsx'
import { Quickstart } from '../features/overview/quickstart.tsx'
import { RecentRequests } from '../features/overview/recent-requests.tsx'
import { SpendChart } from '../features/overview/spend-chart.tsx'
import { Page } from '../ui/page.tsx'
import { SHELL_WORDS } from '../words/shell.ts'

export function Overview() {
  return (
    <Page title={SHELL_WORDS.pagesOf.overview}>
      <OverviewFigures />
      <FirstSteps />
      <Attention />
      <SpendChart />
      <RecentRequests />
      <Quickstart />
    </Page>
  )
}
