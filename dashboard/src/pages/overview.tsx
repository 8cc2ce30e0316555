import { Attention } from '../features/overview/attention.tsx'
import { FirstSteps } from '../features/overview/first-steps.tsx'
import { OverviewFigures } from '../features/overview/overview-figures.tsx'
import { SHELL_TEXT } from '../messages/shell.ts'
import { lazyPart } from '../ui/feedback/lazy-part.tsx'
import { Loading } from '../ui/feedback/states.tsx'
import { Page } from '../ui/layout/page.tsx'

// Below the first figures, or on a tab of its own.
const SpendChart = lazyPart(() => import('../features/overview/spend-chart.tsx').then(({ SpendChart }) => SpendChart), {
  fallback: () => <Loading rows={6} />,
})
const RecentRequests = lazyPart(
  () => import('../features/overview/recent-requests.tsx').then(({ RecentRequests }) => RecentRequests),
  {
    fallback: () => <Loading rows={6} />,
  },
)
const Quickstart = lazyPart(() => import('../features/overview/quickstart.tsx').then(({ Quickstart }) => Quickstart), {
  fallback: () => <Loading rows={6} />,
})

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
