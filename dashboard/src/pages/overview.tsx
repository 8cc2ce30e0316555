import { Attention } from '../features/overview/attention.tsx'
import { FirstSteps } from '../features/overview/first-steps.tsx'
import { OverviewFigures } from '../features/overview/overview-figures.tsx'
import { Quickstart } from '../features/overview/quickstart.tsx'
import { RecentRequests } from '../features/overview/recent-requests.tsx'
import { SpendChart } from '../features/overview/spend-chart.tsx'
import { SHELL_TEXT } from '../messages/shell.ts'
import { Page } from '../ui/layout/page.tsx'

export function Overview() {
  return (
    <Page title={SHELL_TEXT.pagesOf.overview}>
      <OverviewFigures />
      <FirstSteps />
      <Attention />
      <SpendChart />
      <RecentRequests />
      <Quickstart />
    </Page>
  )
}
